//! Making vaults.

use std::collections::BTreeMap;
use std::path::Path;

use super::support::Sandbox;

/// Every file below a directory but git's own, with its bytes.
fn content(root: &Path) -> BTreeMap<String, Vec<u8>> {
    fn below(root: &Path, at: &Path, out: &mut BTreeMap<String, Vec<u8>>) {
        for entry in std::fs::read_dir(at).unwrap().flatten() {
            let (path, name) = (entry.path(), entry.file_name());
            if name == ".git" || name == ".runebook" {
                continue;
            }
            if path.is_dir() {
                below(root, &path, out);
            } else {
                let name = path.strip_prefix(root).unwrap().to_string_lossy().into_owned();
                out.insert(name, std::fs::read(&path).unwrap());
            }
        }
    }
    let mut out = BTreeMap::new();
    below(root, root, &mut out);
    out
}

#[test]
fn a_new_vault_is_one_commit_of_settings() {
    let s = Sandbox::new();
    let run = s.run(&["init", "--json"]).ok();
    let made = run.json();
    assert_eq!(made["created"], true);
    assert_eq!(made["admin"], "mei");
    assert_eq!(
        s.git(&["ls-tree", "-r", "--name-only", "HEAD"]),
        ".runebook/actors.yaml\n.runebook/config.yaml\n.runebook/policy.yaml"
    );
    assert_eq!(s.git(&["status", "--porcelain"]), "");
    assert_eq!(
        s.git(&["log", "--date=raw", "--format=%an <%ae> %cn %cd"]),
        "mei <mei@example.org> mei 1795946400 +0000"
    );
    let root = s.git(&["rev-parse", "HEAD"]);
    assert_eq!(s.read(".git/runebook/root").trim(), root);
    assert_eq!(made["commit"], root.as_str());
    // Once more changes nothing and says so.
    let again = s.run(&["init"]).ok();
    assert!(again.out.contains("is a vault already"), "{}", again.out);
    assert_eq!(s.git(&["rev-parse", "HEAD"]), root);
}

#[test]
fn a_directory_is_made_and_the_branch_is_the_machines() {
    let s = Sandbox::new();
    s.git(&["config", "--global", "init.defaultBranch", "trunk"]);
    s.run(&["init", "sub/新库"]).ok();
    assert_eq!(s.git(&["-C", "sub/新库", "symbolic-ref", "HEAD"]), "refs/heads/trunk");
    assert!(s.read("sub/新库/.runebook/config.yaml").contains("\nmain_branch: trunk\n"));
    let inside = s.run(&["init", "sub/新库/inner"]).fails(2);
    assert!(inside.err.contains("is inside the vault"), "{}", inside.err);
}

#[test]
fn staged_work_stays_staged_and_no_note_changes() {
    let s = Sandbox::new();
    s.git(&["init", "-q"]);
    s.write("bom.md", b"\xEF\xBB\xBF# BOM\r\nline\r\n");
    s.write("日记/今天.md", "# 今天\n");
    s.write("quote'\"\nline.md", "odd\n");
    s.git(&["add", "-A"]);
    s.git(&["commit", "-qm", "notes"]);
    s.write("staged.md", "staged\n");
    s.write("bom.md", b"\xEF\xBB\xBF# BOM\r\nchanged\r\n");
    s.git(&["add", "-A"]);
    s.write("bom.md", b"\xEF\xBB\xBF# BOM\r\nchanged again\r\n");
    s.write("untracked.md", "u\n");
    std::fs::write(s.vault().join(".git/hooks/pre-commit"), "#!/bin/sh\nexit 1\n").unwrap();
    let (before, status) = (content(&s.vault()), s.git(&["status", "--porcelain"]));
    let plain = s.run(&["init"]).fails(2);
    assert!(plain.err.contains("init --existing"), "{}", plain.err);
    s.run(&["init", "--existing"]).ok();
    assert_eq!(content(&s.vault()), before);
    assert_eq!(s.git(&["status", "--porcelain"]), status);
    let names = s.git(&["diff-tree", "--no-commit-id", "-r", "--name-only", "HEAD"]);
    assert_eq!(names, ".runebook/actors.yaml\n.runebook/config.yaml\n.runebook/policy.yaml");
    assert!(!s.read(".runebook/policy.yaml").contains("\n    require:"), "nothing is asked of old notes");
}

#[test]
fn a_folder_becomes_a_repository_after_consent() {
    let s = Sandbox::new();
    s.write("a.md", b"\xEF\xBB\xBFa\r\n");
    s.write("图/face.png", b"\x89PNG");
    s.write("图/二.md", "二\n");
    s.write("Templates/t.md", "{{title}}\n");
    let before = content(&s.vault());
    let asked = s.run(&["init", "--existing"]).fails(2);
    assert!(asked.err.contains("--yes"), "{}", asked.err);
    assert!(!s.vault().join(".git").exists(), "nothing was done");
    s.run(&["init", "--existing", "--yes"]).ok();
    assert_eq!(content(&s.vault()), before);
    let files = s.git(&["-c", "core.quotepath=false", "ls-files"]);
    assert!(files.contains("图/二.md") && files.contains("a.md") && !files.contains("png"), "{files}");
    assert_eq!(s.git(&["rev-list", "--count", "HEAD"]), "1");
    assert_eq!(s.git(&["-c", "core.quotepath=false", "status", "--porcelain"]), "?? 图/face.png");
    assert!(s.read(".runebook/config.yaml").contains("\ntemplates: [Templates]\n"));
}

#[test]
fn what_cannot_be_a_vault_is_refused_with_a_way_out() {
    let s = Sandbox::new();
    s.git(&["init", "-q", "--bare", "bare"]);
    let bare = s.run(&["init", "--existing", "bare"]).fails(2);
    assert!(bare.err.contains("bare repository") && bare.err.contains("git clone"), "{}", bare.err);
    s.git(&["init", "-q", "work"]);
    s.write("work/a.md", "a\n");
    s.git(&["-C", "work", "add", "-A"]);
    s.git(&["-C", "work", "commit", "-qm", "a"]);
    s.git(&["-C", "work", "checkout", "-q", "--detach"]);
    let detached = s.run(&["init", "--existing", "work"]).fails(2);
    assert!(detached.err.contains("detached") && detached.err.contains("git switch"), "{}", detached.err);
    let inside = s.run(&["init", "work/sub"]).fails(2);
    assert!(inside.err.contains("inside the git repository"), "{}", inside.err);
    for (kind, words) in
        [("--ref-format=reftable", "git refs migrate"), ("--object-format=sha256", "object-format=sha1")]
    {
        let made = s.command("git").args(["init", "-q", kind, "odd"]).status().unwrap();
        if !made.success() {
            eprintln!("this git knows no {kind}: not tried");
            continue;
        }
        let odd = s.run(&["init", "--existing", "odd"]).fails(5);
        assert!(odd.err.contains(words), "{}", odd.err);
        std::fs::remove_dir_all(s.vault().join("odd")).unwrap();
    }
}

#[test]
fn an_unborn_branch_gets_the_settings_alone() {
    let s = Sandbox::new();
    s.git(&["init", "-q", "-b", "no"]);
    s.write("a.md", "a\n");
    s.git(&["add", "a.md"]);
    s.run(&["init", "--existing"]).ok();
    assert_eq!(s.git(&["status", "--porcelain"]), "A  a.md");
    assert!(s.read(".runebook/config.yaml").contains("\nmain_branch: \"no\"\n"));
    s.run(&["init"]).ok();
}

#[test]
fn without_a_name_nothing_is_written() {
    let s = Sandbox::new();
    std::fs::write(s.home().join(".gitconfig"), "").unwrap();
    let run = s.run(&["init", "new"]).fails(2);
    assert!(run.err.contains("git config --global user.name"), "{}", run.err);
    assert!(run.err.contains("git config --global user.email"), "{}", run.err);
    assert!(!s.vault().join("new").exists());
}

#[test]
fn a_lock_that_git_left_is_named_and_nothing_is_half_done() {
    let s = Sandbox::new();
    s.git(&["init", "-q"]);
    s.write("a.md", "a\n");
    s.git(&["add", "-A"]);
    s.git(&["commit", "-qm", "a"]);
    std::fs::write(s.vault().join(".git/index.lock"), "").unwrap();
    let run = s.run(&["init", "--existing"]).fails(3);
    assert!(run.err.contains("index.lock"), "{}", run.err);
    assert!(!s.vault().join(".runebook").exists(), "the settings are taken away again");
    std::fs::remove_file(s.vault().join(".git/index.lock")).unwrap();
    s.run(&["init", "--existing"]).ok();
}
