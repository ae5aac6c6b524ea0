//! The benchmarks. `cargo bench --bench vault -- COMMAND`:
//!
//! - `generate DIR COUNT`: makes a vault of COUNT memories;
//! - `index VAULT`: the index built anew, without a change, after one;
//! - `find VAULT`: lexical search, warm and cold;
//! - `hybrid VAULT`: search by words and meaning, with random vectors;
//! - `merge VAULT`: a proposal of three files;
//! - `tokens DIR…`: texts cut into words;
//! - `watch VAULT`: a watched vault, from a save to its being found, idling, a large checkout;
//! - `vectors [COUNT…]`: exact search over random vectors, 100,000 and 1,000,000 of them if not said;
//! - `embed MODEL RUNTIME [COUNT]`: embedding through the program and through the bare runtime, and a cold start;
//! - `eval COLLECTION DATA [OPTIONS]`: how well public collections are searched;
//! - `tune text|fused DATA NOTES PAGES`: chooses the weights of search on half of the questions.

mod beir;
mod embed;
mod eval;
mod find;
mod generate;
mod hybrid;
mod index;
mod known;
mod layers;
mod locomo;
mod merge;
mod mv;
mod support;
mod tokens;
mod tune;
mod vectors;
mod watch;
mod words;

use std::path::Path;

fn main() -> support::Result<()> {
    // Cargo adds `--bench`, and nothing else when everything is benched or tested.
    let args: Vec<String> = std::env::args().skip(1).filter(|argument| argument != "--bench").collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let place = |dir: &str| Path::new(dir).canonicalize().map_err(|error| format!("{dir}: {error}"));
    match args.as_slice() {
        ["generate", dir, count] => generate::run(Path::new(dir), count.parse()?),
        ["index", dir] => index::run(&place(dir)?),
        ["find", dir] => find::run(&place(dir)?),
        ["hybrid", dir] => hybrid::run(&place(dir)?),
        ["layers", dir] => layers::run(&place(dir)?),
        ["merge", dir] => merge::run(&place(dir)?),
        ["watch", dir] => watch::run(&place(dir)?),
        ["vectors"] => vectors::run(&[100_000, 1_000_000]),
        ["vectors", counts @ ..] => {
            vectors::run(&counts.iter().map(|count| Ok(count.parse()?)).collect::<support::Result<Vec<_>>>()?)
        }
        ["tokens", dirs @ ..] => tokens::run(dirs),
        ["mv", dir] => mv::run(Path::new(dir)),
        ["graph", dir] => mv::graph(&place(dir)?),
        ["embed-bare", model, runtime, count] => {
            embed::bare(&place(model)?, &place(runtime)?, count.parse()?)
        }
        ["embed", model, runtime] => embed::run(&place(model)?, &place(runtime)?, 200),
        ["embed", model, runtime, count] => embed::run(&place(model)?, &place(runtime)?, count.parse()?),
        ["tune", arm, data, notes, pages] => tune::run(arm, [&place(data)?, &place(notes)?, &place(pages)?]),
        ["eval", name, data, rest @ ..] => eval::run(name, &place(data)?, rest),
        _ => support::say(
            "cargo bench --bench vault -- generate DIR COUNT | index DIR | find DIR | hybrid DIR | layers DIR | merge DIR | watch DIR | mv NEW | graph DIR | tokens DIR… | vectors | embed MODEL RUNTIME | eval NAME DATA | tune text|fused DATA NOTES PAGES",
        ),
    }
}
