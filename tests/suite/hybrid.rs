//! `find` by words and meaning together. With the real model where the machine has it (see `models.rs`).

use crate::meaning::{ACTORS, Embedding, filled};
use crate::support::{Run, Sandbox};

/// Notes about different things, in English and in Chinese; none is another one's translation.
const ENGLISH: [&str; 22] = [
    "The cat sleeps on the sofa all afternoon.",
    "Rotate the database password every ninety days.",
    "The train to Hamburg leaves from platform seven.",
    "Bake the bread at two hundred and thirty degrees.",
    "Grandmother was born in a village by the sea.",
    "The invoice must be paid within thirty days.",
    "Use a mutex where two threads write the same list.",
    "The dentist has moved to the second floor.",
    "Tomatoes want sun and water every evening.",
    "The bicycle needs a new chain before spring.",
    "Our landlord promised to repair the heating.",
    "The violin lesson is on Thursday at five.",
    "The court decided that the contract was void.",
    "Glaciers have lost a third of their ice.",
    "She swims forty lengths before breakfast.",
    "The telescope shows the rings of Saturn.",
    "Vaccines train the immune system.",
    "The museum is closed on Mondays.",
    "Chess openings: avoid moving the queen early.",
    "The tax office wants the form in duplicate.",
    "Coffee beans keep best in a dark, cool tin.",
    "The lighthouse keeper writes a poem each night.",
];
const CHINESE: [&str; 22] = [
    "服务器每天凌晨三点自动备份数据。",
    "他喜欢坐飞机靠窗的座位。",
    "奶奶做的红烧肉要小火炖两个小时。",
    "会议室的投影仪坏了，需要报修。",
    "孩子下周开始上小学一年级。",
    "这条河夏天常常发洪水。",
    "房租每个月五号之前转账。",
    "医生建议每天走一万步。",
    "这本小说的结局很悲伤。",
    "新买的相机可以拍星空。",
    "公司规定出差要提前申请。",
    "茶叶要放在干燥的地方保存。",
    "足球队上周末输了两个球。",
    "电脑的内存不够，程序经常卡死。",
    "春节期间高速公路免费通行。",
    "老师让学生每天背十个单词。",
    "这家面馆的牛肉面最好吃。",
    "邻居家的狗晚上总是叫。",
    "护照还有半年就要过期了。",
    "花园里的玫瑰长了蚜虫。",
    "股票市场今天大跌。",
    "地铁十号线正在维修。",
];

fn two_languages() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.run(&["init"]).ok();
    for (at, text) in ENGLISH.iter().enumerate() {
        sandbox.write(&format!("notes/en{at:02}.md"), format!("---\ntype: semantic\n---\n{text}\n"));
    }
    for (at, text) in CHINESE.iter().enumerate() {
        sandbox.write(&format!("notes/zh{at:02}.md"), format!("---\ntype: semantic\n---\n{text}\n"));
    }
    sandbox
}

fn paths(run: &Run) -> Vec<String> {
    let answer = run.json();
    let hits = answer["hits"].as_array().unwrap();
    hits.iter().map(|hit| hit["path"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn what_is_meant_is_found_in_both_languages() {
    let Some(vault) = Embedding::over(two_languages) else { return };
    vault.run(&["reindex"]).ok();
    let find = |query: &str| {
        let run = vault.run(&["find", query, "--json", "-n", "10"]).ok();
        assert_eq!(run.json()["mode"], "hybrid");
        // Which words no note has is said all the same, and nothing else.
        let others = |line: &&str| !line.starts_with("note: no memory has ");
        assert_eq!(run.err.lines().find(others), None);
        paths(&run)
    };
    // A word that no note has.
    assert_eq!(find("kitty")[0], "notes/en00.md");
    let told = vault.run(&["find", "kitty"]).ok().err;
    assert!(told.contains("no memory has these words: this is what is nearest by meaning"), "{told}");
    vault.run(&["find", "kitty", "--lexical"]).fails(1);
    // A slip of the keys is no word that the model knows.
    let slip = vault.run(&["find", "telescpe", "--json"]).ok();
    assert_eq!(slip.json()["instead"], "telescope");
    assert!(paths(&slip).iter().take(3).any(|path| path == "notes/en15.md"), "{}", slip.out);
    vault.run(&["find", "zxqv"]).fails(1);
    let among = |query: &str, path: &str, places: usize| {
        let found = find(query);
        assert!(found.iter().take(places).any(|found| found == path), "{query}: {found:?}");
    };
    among("猫在哪里睡觉？", "notes/en00.md", 5);
    among("多久要更换一次数据库的密码？", "notes/en01.md", 5);
    among("the neighbour's dog barks at night", "notes/zh17.md", 5);
    among("which seat does he like on a plane", "notes/zh01.md", 5);
    // And what has the words is still first.
    among("服务器备份", "notes/zh00.md", 1);
    among("platform seven", "notes/en02.md", 1);
    // The same question gets the same answer, to the last bit.
    let once = || vault.run(&["find", "who repairs things", "--json", "--explain", "-n", "40"]).ok().json();
    assert_eq!(once()["hits"], once()["hits"]);
    let told = vault.run(&["find", "kitty", "--explain", "-n", "1"]).ok();
    assert!(told.out.contains("cat sleeps"), "the best chunk is shown: {}", told.out);
    assert!(
        told.out.contains("words     did not find it") && told.out.contains("meaning   #1"),
        "{}",
        told.out
    );
    let cases = "cases:\n  - {id: cat, query: kitty, relevant: [notes/en00.md]}\n";
    vault.sandbox.write("cases.yaml", cases);
    let answer = vault.run(&["eval", "cases.yaml", "--json"]).ok().json();
    let arms: Vec<(&str, f64)> = (answer["arms"].as_array().unwrap().iter())
        .map(|arm| (arm["arm"].as_str().unwrap(), arm["all"]["measures"]["mrr"].as_f64().unwrap()))
        .collect();
    assert_eq!(arms, [("grep", 0.0), ("bm25", 0.0), ("text", 0.0), ("dense", 1.0), ("fused", 1.0)]);
    // What says the same in the other language is similar.
    vault.sandbox.write("notes/cat.md", "---\ntype: semantic\n---\n猫整个下午都睡在沙发上。\n");
    vault.run(&["reindex"]).ok();
    for (of, like) in [("notes/en00.md", "notes/cat.md"), ("notes/cat.md", "notes/en00.md")] {
        let run = vault.run(&["similar", of, "--json"]).ok();
        assert_eq!(paths(&run)[0], like, "{}", run.out);
    }
}

/// The notes in two languages on main, with a restricted one, a procedure and a few that say "exactly so".
fn with_rights() -> Sandbox {
    let sandbox = two_languages();
    let write = |path: &str, fields: &str, text: &str| {
        sandbox.write(path, format!("---\n{fields}\n---\n{text}\n"));
    };
    write(
        "notes/secret.md",
        "type: semantic\nsensitivity: restricted",
        "The cat hides in the wardrobe when guests come.",
    );
    write("notes/feed.md", "type: procedural", "Feed the cat two spoons of tuna each morning.");
    write("user/vet.md", "type: semantic\ntags: [travel]", "The cat sees the vet in May, \"exactly so\".");
    sandbox.write("user/wet.md", sandbox.read("user/vet.md"));
    sandbox.write(".runebook/actors.yaml", ACTORS);
    sandbox.git(&["add", "-A"]);
    sandbox.git(&["commit", "-qm", "Notes"]);
    sandbox
}

#[test]
fn filters_and_rights_hold_in_both_arms() {
    let Some(vault) = Embedding::over(with_rights) else { return };
    vault.run(&["reindex"]).ok();
    let find = |args: &[&str]| {
        let all = [&["find", "--json", "-n", "500"], args].concat();
        let run = vault.run(&all);
        assert_eq!((run.status, run.json()["mode"].as_str()), (0, Some("hybrid")), "{args:?}");
        paths(&run)
    };
    let has = |found: &[String], path: &str| found.iter().any(|found| found == path);
    // No note has the word: it is the meaning that finds them, and the meaning that must not.
    assert!(has(&find(&["kitty"]), "notes/secret.md"));
    let found = find(&["--as", "claude", "kitty"]);
    assert!(has(&found, "notes/en00.md") && !has(&found, "notes/secret.md"), "{found:?}");
    assert_eq!(find(&["kitty", "--type", "procedural"]), ["notes/feed.md"]);
    assert!(find(&["kitty", "--path", "user/"]).iter().all(|path| path.starts_with("user/")));
    let without = find(&["kitty -tuna"]);
    assert!(has(&without, "notes/en00.md") && !has(&without, "notes/feed.md"), "{without:?}");
    // Equal ones in the order of their paths.
    assert_eq!(find(&["kitty \"exactly so\""]), ["user/vet.md", "user/wet.md"]);
    // Where nothing is to be understood, words decide.
    for query in ["\"exactly so\"", "tag:travel", "-deploy"] {
        let run = vault.run(&["find", "--json", "--", query]).ok();
        assert_eq!((run.json()["mode"].as_str(), run.err.as_str()), (Some("lexical"), ""), "{query}");
    }
    // What was just saved is found by its meaning at once; the library that is gone is told in one line.
    vault.sandbox.write("user/new.md", "The kitten purrs.\n");
    let run = vault.run(&["find", "kitten purring", "--explain", "-n", "1"]).ok();
    assert!(run.out.contains("user/new.md") && run.out.contains("meaning   #1"), "{}", run.out);
    let run = vault.run(&["find", "kitten purring", "--json"]).ok();
    assert_eq!(run.json()["freshness"]["unembedded"].as_u64(), None);
    let gone = vault.run_with(&[("ORT_DYLIB_PATH", "/nowhere/lib.so")], &["find", "cat", "--json"]).ok();
    assert_eq!(gone.json()["mode"], "lexical");
    assert!(gone.err.contains("note: lexical only: no model ("), "{}", gone.err);
    assert_eq!(gone.err.lines().count(), 1, "{}", gone.err);
}

#[test]
fn without_a_model_words_alone_answer_and_say_so_where_one_was_chosen() {
    let sandbox = filled();
    let quiet = sandbox.run(&["find", "window"]).ok();
    assert!(!quiet.err.contains("model"), "nobody chose one: {}", quiet.err);
    let json = sandbox.run(&["find", "window", "--json"]).ok().json();
    assert_eq!(json["mode"], "lexical");
    assert!(json["lexical_because"].as_str().unwrap().starts_with("no model ("), "{json}");
    let nothing = sandbox.run(&["find", "zebra"]).fails(1);
    assert_eq!(nothing.err.matches("by words alone: no model (").count(), 1, "{}", nothing.err);
    let mut command = sandbox.command(env!("CARGO_BIN_EXE_runebook"));
    let output = command.env("RUNEBOOK_MODEL", "absent").args(["find", "window"]).output().unwrap();
    let err = String::from_utf8_lossy(&output.stderr);
    assert!(err.contains("note: lexical only: no model (`absent`, chosen by RUNEBOOK_MODEL"), "{err}");
    assert!(output.status.success());
}
