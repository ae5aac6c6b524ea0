//! The files by which a system starts a watcher with the session of its user.

use std::path::Path;

use super::WatchError;

/// Whose form the file has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Service {
    /// A user unit of systemd.
    Systemd,
    /// An agent of launchd.
    Launchd,
}

/// What has the C library give memory back that a large change needed: a watcher idles for days. Other libraries take
/// no notice.
pub(super) const THRIFT: [(&str, &str); 3] =
    [("MALLOC_ARENA_MAX", "2"), ("MALLOC_MMAP_THRESHOLD_", "131072"), ("MALLOC_TRIM_THRESHOLD_", "131072")];

/// The text of the file that starts `program` for the vault at `root`.
///
/// # Errors
/// [`WatchError::Unprintable`] for a path with characters that the form cannot hold.
pub fn unit(service: Service, program: &Path, root: &Path) -> Result<String, WatchError> {
    let text = |path: &Path| path.to_str().map(str::to_owned).ok_or(WatchError::Unprintable(path.to_owned()));
    let (program_text, root_text) = (text(program)?, text(root)?);
    for (path, text) in [(program, &program_text), (root, &root_text)] {
        if text.chars().any(char::is_control) {
            return Err(WatchError::Unprintable(path.to_owned()));
        }
    }
    Ok(match service {
        Service::Systemd => systemd(&program_text, &root_text),
        Service::Launchd => launchd(&program_text, &root_text),
    })
}

/// A word of a command line in a unit: in quotes, with what systemd would expand doubled.
fn word(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            '%' | '$' => out.extend([c, c]),
            _ => out.push(c),
        }
    }
    out.push('"');
    out
}

fn systemd(program: &str, root: &str) -> String {
    // The program's own path is not subject to `$`, only to `%`.
    let program = word(program).replace("$$", "$");
    let thrift = THRIFT.map(|(name, value)| format!("{name}={value}")).join(" ");
    format!(
        "# Save as ~/.config/systemd/user/runebook-watch.service, then run
#   systemctl --user daemon-reload
#   systemctl --user enable --now runebook-watch.service
[Unit]
Description=Keeps the index of a Runebook vault up to date ({})

[Service]
ExecStart={program} -C {} watch
Environment={thrift}
# 3: another watcher runs in the vault already.
RestartPreventExitStatus=3
Restart=on-failure
RestartSec=10
Nice=5

[Install]
WantedBy=default.target
",
        root.replace('%', "%%"),
        word(root)
    )
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

fn launchd(program: &str, root: &str) -> String {
    // One dash at a time: two of them would end the comment.
    let words = root.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    let name = words.collect::<Vec<_>>().join("-");
    let (program, root) = (escaped(program), escaped(root));
    format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>
<!-- Save as ~/Library/LaunchAgents/runebook.watch.{name}.plist, then run
     launchctl load -w ~/Library/LaunchAgents/runebook.watch.{name}.plist -->
<!DOCTYPE plist PUBLIC \"-//Apple//DTD PLIST 1.0//EN\" \"http://www.apple.com/DTDs/PropertyList-1.0.dtd\">
<plist version=\"1.0\">
<dict>
  <key>Label</key>
  <string>runebook.watch.{name}</string>
  <key>ProgramArguments</key>
  <array>
    <string>{program}</string>
    <string>-C</string>
    <string>{root}</string>
    <string>watch</string>
  </array>
  <key>RunAtLoad</key>
  <true/>
  <key>KeepAlive</key>
  <dict>
    <key>SuccessfulExit</key>
    <false/>
  </dict>
  <key>ThrottleInterval</key>
  <integer>10</integer>
  <key>ProcessType</key>
  <string>Background</string>
</dict>
</plist>
"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_quoted_as_the_form_asks() {
        let (program, root) =
            (Path::new("/opt/a $b/runebook"), Path::new("/home/mei/100% \"notes\" & <日记>$x"));
        let text = unit(Service::Systemd, program, root).unwrap();
        assert!(
            text.contains(
                "ExecStart=\"/opt/a $b/runebook\" -C \"/home/mei/100%% \\\"notes\\\" & <日记>$$x\" watch\n"
            ),
            "{text}"
        );
        let text = unit(Service::Launchd, program, root).unwrap();
        assert!(text.contains("<string>/home/mei/100% \"notes\" &amp; &lt;日记&gt;$x</string>"), "{text}");
        assert!(unit(Service::Systemd, program, Path::new("/a\nExecStartPost=/bin/x")).is_err());
    }

    #[test]
    fn no_comment_of_the_plist_ends_early() {
        let text = unit(Service::Launchd, Path::new("/r"), Path::new("/a--b-->c")).unwrap();
        let comment = text.split("<!--").nth(1).unwrap();
        let comment = comment.split("-->").next().unwrap();
        assert!(!comment.contains("--"), "{comment}");
    }
}
