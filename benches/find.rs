//! Lexical search: warm within one process, and cold as a new process each time; beside it a cold `ls`. `find VAULT`.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use crate::support::Result;
use crate::{support, words};
use runebook::flow::find::{FindRequest, Finder, find};
use runebook::flow::progress::Silent;
use runebook::flow::sync;
use runebook::flow::vault::Vault;
use runebook::model::access::{Access, View};

const QUERIES: usize = 400;

/// Measures and prints.
pub(crate) fn run(dir: &Path) -> Result<()> {
    let env = support::env(dir);
    let vault = Vault::open(&env, dir)?;
    sync::ensure(&vault, &Silent)?;
    let finder = Finder::open(&vault)?;
    let access = Access { actor: None, view: View::WorkTree };
    let request = |at: usize| FindRequest { query: words::query(at), limit: 10, ..FindRequest::default() };

    // Without the look at the work tree, which `index` measures: what a process that watches would spend.
    let warm = times_of(QUERIES, |at| Ok(finder.find(&vault, &access, &request(at))?))?;
    let fresh = times_of(40, |at| Ok(find(&vault, &access, &request(at), &Silent)?))?;
    let program = env!("CARGO_BIN_EXE_runebook");
    let cold = times_of(20, |at| {
        let query = words::query(at);
        let mut command = Command::new(program);
        command.current_dir(dir).args(["find", "--json", "--", &query]);
        Ok(command.output()?)
    })?;
    let list = times_of(20, |_| support::command(dir, program, &["ls", "resources"]))?;
    support::say(format!(
        "{}: {QUERIES} queries of one to four words, a quarter of them Chinese",
        dir.display()
    ))?;
    support::table(&[
        ("warm p50", support::share(&warm, 50), String::new()),
        ("warm p99", support::share(&warm, 99), String::new()),
        ("with the look at the files p50", support::share(&fresh, 50), String::new()),
        ("cold process p50", support::share(&cold, 50), String::new()),
        ("cold `ls` p50", support::share(&list, 50), String::new()),
    ])
}

fn times_of<T>(count: usize, mut run: impl FnMut(usize) -> Result<T>) -> Result<Vec<Duration>> {
    let mut times: Vec<Duration> = (0..count).map(|at| support::timed(|| run(at))).collect::<Result<_>>()?;
    times.sort();
    Ok(times)
}
