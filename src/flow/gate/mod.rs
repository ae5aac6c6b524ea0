//! What the gate rests on: history, the rules that stand on main, and how they judge.

pub mod examine;
pub mod governance;
pub mod history;
pub mod judge;
pub mod limits;
pub mod people;
mod read;
pub mod stale;
pub mod touched;
pub mod voices;
