//! Measuring the search from the command line.

use super::support::Sandbox;

fn vault() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.run(&["init"]).ok();
    sandbox.write("user/seats.md", "# Seats\n\nA window seat on long flights.\n");
    sandbox.write("user/trips.md", "# Trips\n\nA window of two weeks in January.\n");
    sandbox.write("resources/tea.md", "# Tea\n\nGreen, without sugar.\n");
    sandbox
}

const CASES: &str = "cases:
- id: seats
  query: window seat
  relevant: [{uri: 'viking://user/seats.md', grade: 2}, user/trips.md]
  tier: 1
- id: tea
  query: how is tea taken
  relevant: [resources/tea.md]
  forbidden: [user/trips.md]
  tier: 2
- id: none
  query: kubernetes
  empty: true
";

#[test]
fn measures_of_cases_with_known_answers() {
    let s = vault();
    s.write("cases.yaml", CASES);
    let answer = s.run(&["eval", "cases.yaml", "--json", "--k", "2"]).json();
    assert_eq!(answer["cases"], 2);
    assert_eq!(answer["empty_cases"], 1);
    let arms = answer["arms"].as_array().unwrap();
    let names: Vec<&str> = arms.iter().map(|arm| arm["arm"].as_str().unwrap()).collect();
    assert_eq!(names[..3], ["grep", "bm25", "text"]);
    let text = &arms[2];
    assert_eq!(text["all"]["measures"]["ndcg"], 1.0, "{text:#}");
    assert_eq!(text["all"]["measures"]["recall"], 1.0);
    assert_eq!(text["all"]["measures"]["precision"], 0.75, "two of two, and one of two");
    assert_eq!(text["all"]["answered_empty"], 0.0);
    assert_eq!(text["all"]["forbidden"], 0.0);
    assert_eq!(text["tiers"].as_array().unwrap().len(), 2);
    assert!(text.get("missed").is_none());
    let shown = s.run(&["eval", "cases.yaml", "--arm", "text"]).ok().out;
    assert!(shown.contains("2 cases with answers, and 1 in which nothing is to be found"), "{shown}");
    assert!(shown.contains("tier 2"), "{shown}");
}

#[test]
fn what_the_vault_does_not_have_is_named_with_its_line() {
    let s = vault();
    s.write("cases.yaml", "cases:\n- id: a\n  query: seat\n  relevant:\n  - user/seat.md\n");
    let error = s.run(&["eval", "cases.yaml"]).fails(2).err;
    assert!(error.contains("cases.yaml:5: case `a`: there is no `user/seat.md`"), "{error}");
    assert!(error.contains("did you mean user/seats.md?"), "{error}");
    assert!(s.run(&["eval", "nothing.yaml"]).fails(2).err.contains("reading nothing.yaml"));
}

#[test]
fn a_baseline_counts_what_the_asker_of_a_case_may_see() {
    let s = vault();
    s.write(".runebook/actors.yaml", crate::meaning::ACTORS);
    s.write(
        "resources/secret.md",
        "---\nsensitivity: restricted\n---\n# Zebra\n\nThe zebra is confidential.\n",
    );
    s.git(&["add", "-A"]);
    s.git(&["commit", "-qm", "all"]);
    let case = |id: &str, actor: &str, relevant: &str| {
        format!(
            "- {{id: {id}, query: {id}, relevant: [{relevant}]{}}}\n",
            match actor {
                "" => String::new(),
                actor => format!(", actor: {actor}"),
            }
        )
    };
    let recall = |cases: &[String]| {
        s.write("cases.yaml", format!("cases:\n{}", cases.concat()));
        let answer = s.run(&["eval", "cases.yaml", "--json"]).ok().json();
        let arms = answer["arms"].as_array().unwrap().iter().take(3);
        arms.map(|arm| arm["all"]["measures"]["recall"].as_f64().unwrap()).collect::<Vec<_>>()
    };
    let (mine, theirs) =
        (case("zebra", "", "resources/secret.md"), case("zebra", "claude", "resources/secret.md"));
    // Grep, plain BM25 and our own: a baseline that saw more than the asker would be no measure.
    assert_eq!(recall(std::slice::from_ref(&mine)), [1.0; 3]);
    assert_eq!(recall(std::slice::from_ref(&theirs)), [0.0; 3]);
    let both = [mine.replace("id: zebra", "id: mine"), theirs.replace("id: zebra", "id: theirs")];
    assert_eq!(recall(&both), [0.5; 3]);
    // An agent that may read a part: what it may read is found.
    assert_eq!(recall(&[case("window", "narrow", "user/seats.md")]), [1.0; 3]);
    assert_eq!(recall(&[case("tea", "narrow", "resources/tea.md")]), [0.0; 3]);
}
