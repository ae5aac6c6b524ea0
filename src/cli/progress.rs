//! Shows how far long work is: a bar after a second on a terminal, a line at the end when piped.

use std::sync::Mutex;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::Session;
use crate::flow::Progress;

/// Work that is over sooner than this shows nothing.
const PATIENCE: Duration = Duration::from_secs(1);

/// A [`Progress`] on stderr.
pub(crate) struct Bar {
    terminal: bool,
    quiet: bool,
    stage: Mutex<Option<Stage>>,
}

struct Stage {
    what: String,
    began: Instant,
    done: u64,
    total: Option<u64>,
    bar: Option<ProgressBar>,
}

impl Bar {
    /// One for this run of the program.
    pub(crate) fn new(session: &Session<'_>) -> Bar {
        Bar { terminal: session.out.shows_progress(), quiet: session.globals.quiet, stage: Mutex::new(None) }
    }

    fn with(&self, change: impl FnOnce(&mut Option<Stage>)) {
        change(&mut self.stage.lock().unwrap_or_else(std::sync::PoisonError::into_inner));
    }
}

impl Stage {
    fn show(&mut self) {
        if self.bar.is_none() && self.began.elapsed() >= PATIENCE {
            let template = match self.total {
                Some(_) => "{msg} {wide_bar} {pos}/{len} {per_sec} {eta}",
                None => "{msg} {spinner} {pos} {per_sec}",
            };
            let style =
                ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar());
            let bar = ProgressBar::with_draw_target(self.total, ProgressDrawTarget::stderr());
            bar.set_style(style);
            bar.set_message(self.what.clone());
            bar.reset_eta();
            self.bar = Some(bar);
        }
        if let Some(bar) = &self.bar {
            bar.set_position(self.done);
        }
    }
}

impl Progress for Bar {
    fn begin(&self, what: &str, total: Option<u64>) {
        self.end();
        let stage = Stage { what: what.to_owned(), began: Instant::now(), done: 0, total, bar: None };
        self.with(|slot| *slot = Some(stage));
    }

    fn advance(&self, steps: u64) {
        self.with(|slot| {
            if let Some(stage) = slot {
                stage.done += steps;
                if self.terminal {
                    stage.show();
                }
            }
        });
    }

    fn end(&self) {
        self.with(|slot| {
            let Some(stage) = slot.take() else { return };
            if let Some(bar) = &stage.bar {
                bar.finish_and_clear();
            }
            let took = stage.began.elapsed();
            if took >= PATIENCE && !self.quiet {
                let (done, seconds) = (stage.done as f64, took.as_secs_f64());
                // A step that is not counted, or takes longer than a second, has no pace.
                let pace = if done > seconds { format!(" ({:.0}/s)", done / seconds) } else { String::new() };
                let done = if stage.done > 0 { format!("{} in ", stage.done) } else { String::new() };
                super::output::err_line(&format!("{}: {done}{seconds:.1} s{pace}", stage.what));
            }
        });
    }
}
