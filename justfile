# Short names for what one does often. `just` alone lists them.

default:
    @just --list

# Run all tests, or those whose names contain the words
test *words:
    cargo test --locked {{words}}

# Take the example vault through the whole loop
demo:
    cargo run --locked -- demo

# What must hold before a change is taken
ci:
    .ci/run

# Format, then lint as strictly as ci does
lint:
    cargo fmt
    cargo clippy --all-targets --locked -- -D warnings
