//! Which file system a directory is on: those of other machines do not tell what other machines change.

use std::path::{Path, PathBuf};

/// File systems whose content others change without this system knowing.
const REMOTE: [&str; 22] = [
    "nfs",
    "nfs4",
    "cifs",
    "smb3",
    "smbfs",
    "9p",
    "afs",
    "ceph",
    "coda",
    "glusterfs",
    "lustre",
    "beegfs",
    "gpfs",
    "ocfs2",
    "gfs2",
    "vboxsf",
    "prl_fs",
    "drvfs",
    "virtiofs",
    "fuse",
    "ncpfs",
    "orangefs",
];

/// The kind of a remote file system on which a directory is; none for one of this machine, or where it is not known.
pub(super) fn remote(at: &Path) -> Option<String> {
    let mounts = std::fs::read_to_string("/proc/self/mountinfo").ok()?;
    let real = at.canonicalize().ok()?;
    kind_of(&mounts, &real).filter(|kind| is_remote(kind))
}

fn is_remote(kind: &str) -> bool {
    let kind = kind.to_ascii_lowercase();
    REMOTE.contains(&kind.as_str()) || kind.starts_with("fuse.")
}

/// The kind of the file system that holds a path, by the lines of `mountinfo`: of the mount points above it the
/// longest, and of two at one place the later one, which lies over the other.
fn kind_of(mounts: &str, at: &Path) -> Option<String> {
    let mut best: Option<(usize, &str)> = None;
    for line in mounts.lines() {
        let Some((left, right)) = line.split_once(" - ") else { continue };
        let (Some(point), Some(kind)) = (left.split(' ').nth(4), right.split(' ').next()) else { continue };
        let point = unescaped(point);
        if at.starts_with(&point) {
            let length = point.components().count();
            if best.is_none_or(|(longest, _)| length >= longest) {
                best = Some((length, kind));
            }
        }
    }
    best.map(|(_, kind)| kind.to_owned())
}

/// Blanks and the like stand as three octal digits.
fn unescaped(text: &str) -> PathBuf {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, more)) = rest.split_first() {
        let code = more
            .get(..3)
            .filter(|_| *first == b'\\')
            .and_then(|digits| u8::from_str_radix(std::str::from_utf8(digits).ok()?, 8).ok());
        match code {
            Some(code) => {
                bytes.push(code);
                rest = &more[3..];
            }
            None => {
                bytes.push(*first);
                rest = more;
            }
        }
    }
    PathBuf::from(String::from_utf8_lossy(&bytes).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    const MOUNTS: &str = "\
22 1 254:0 / / rw,relatime - ext4 /dev/vda rw
23 22 0:21 / /proc rw - proc proc rw
40 22 0:50 / /home/mei/My\\040Notes rw - nfs4 server:/notes rw
41 40 0:51 / /home/mei/My\\040Notes/here rw shared:3 - tmpfs tmpfs rw
42 22 0:52 / /mnt rw - ext4 /dev/vdb rw
43 42 0:53 / /mnt rw - fuse.sshfs me@there: rw
nonsense
";

    #[test]
    fn the_nearest_mount_point_says_of_which_kind_it_is() {
        let kind = |at: &str| kind_of(MOUNTS, Path::new(at)).unwrap();
        assert_eq!(kind("/home/mei/vault"), "ext4");
        assert_eq!(kind("/home/mei/My Notes/a"), "nfs4");
        assert_eq!(kind("/home/mei/My Notes/here/a"), "tmpfs");
        assert_eq!(kind("/home/mei/My Notesx"), "ext4");
        assert_eq!(kind("/mnt/a"), "fuse.sshfs");
        for remote in
            ["nfs", "nfs4", "fuse.sshfs", "fuse.rclone", "CIFS", "smb3", "9p", "virtiofs", "drvfs", "vboxsf"]
        {
            assert!(is_remote(remote), "{remote}");
        }
        for local in ["ext4", "btrfs", "xfs", "fuseblk", "overlay", "tmpfs", "zfs", "apfs", "nfsd", ""] {
            assert!(!is_remote(local), "{local}");
        }
    }
}
