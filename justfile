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

# Write down what is generated: the schemas of `--json`, and what the README's examples print
schemas:
    RUNEBOOK_REGENERATE=1 cargo test --locked --test suite schemas::
    -RUNEBOOK_REGENERATE=1 cargo test --locked --test suite readme::
    git diff --stat

# Measure over a generated vault: `just bench 100000`
bench count='10000' place='target/bench-vault':
    rm -rf {{place}}
    cargo bench --locked --bench vault -- generate {{place}} {{count}}
    cargo bench --locked --bench vault -- index {{place}}
    cargo bench --locked --bench vault -- find {{place}}
    cargo bench --locked --bench vault -- merge {{place}}
