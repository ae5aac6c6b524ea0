//! The merge driver as git calls it: a process of its own, which has opened no repository yet.

use crate::support::Sandbox;

#[test]
fn two_persons_words_are_merged_or_left_to_them() {
    let s = Sandbox::new();
    let drive = |base: &str, ours: &str, theirs: &str| {
        for (name, text) in [("base", base), ("ours", ours), ("theirs", theirs)] {
            s.write(name, text);
        }
        let run = s.run(&["merge-driver", "base", "ours", "theirs", "a;b/.overview.md"]);
        (run.status, s.read("ours"))
    };
    let base = "1\n2\n3\n4\n5\n";
    let (status, merged) = drive(base, "0\n2\n3\n4\n5\n", "1\n2\n3\n4\n6\n");
    assert_eq!((status, merged.as_str()), (0, "0\n2\n3\n4\n6\n"));
    let (status, left) = drive(base, "7\n2\n3\n4\n5\n", "8\n2\n3\n4\n5\n");
    assert_eq!((status, left.as_str()), (1, "7\n2\n3\n4\n5\n"));
    assert_eq!(drive("a\0", "b\0", "c\0").0, 1);
    s.run(&["merge-driver", "missing", "ours", "theirs", "x"]).fails(5);
}
