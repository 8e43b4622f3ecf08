//! ECDSA keys over P-256, in memory and in files.

use std::fmt;
use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use pem::Pem;
use plumbline_archive::atomic::AtomicFile;
use plumbline_archive::disk::Disk;
use ring::agreement::{self, ECDH_P256, EphemeralPrivateKey, agree_ephemeral};
use ring::rand::SystemRandom;
use ring::signature::{
    ECDSA_P256_SHA256_ASN1, ECDSA_P256_SHA256_ASN1_SIGNING, EcdsaKeyPair, KeyPair as _, UnparsedPublicKey,
};

use super::error::{KeyError, SigningError};
use crate::unpack::read_start;
use plumbline_core::Digest;

/// Maximum size of a PEM text, in bytes. A P-256 key has less than 400. Comments and parameters
/// around it are allowed.
const MAX_PEM: usize = 64 << 10;
/// Maximum length of an unknown tag in a message, in characters.
const MAX_TAG: usize = 64;
const PUBLIC_TAG: &str = "PUBLIC KEY";
/// Tag of a private key (PKCS #8).
const PRIVATE_TAG: &str = "PRIVATE KEY";

/// A private key for ECDSA over P-256 with SHA-256.
pub struct PrivateKey {
    pair: EcdsaKeyPair,
    public: PublicKey,
}

impl PrivateKey {
    /// Generates a key, and returns it with its PEM form (PKCS#8, not encrypted). No other function
    /// exports the key.
    pub fn generate() -> Result<(Self, String), KeyError> {
        let document = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_ASN1_SIGNING, &SystemRandom::new())
            .map_err(|_| KeyError::Random)?;
        let key = Self::from_der(document.as_ref())?;
        Ok((key, pem_text(PRIVATE_TAG, document.as_ref())))
    }

    /// Parses `-----BEGIN PRIVATE KEY-----` (PKCS#8), as `openssl genpkey` writes it. The error says
    /// what was found instead: an encrypted key, another algorithm, another form.
    pub fn from_pem(text: &[u8]) -> Result<Self, KeyError> {
        Self::from_der(&only_block(text, PRIVATE_TAG)?)
    }

    fn from_der(der: &[u8]) -> Result<Self, KeyError> {
        let pair = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_ASN1_SIGNING, der, &SystemRandom::new()).map_err(
            |rejected| match unsupported(der) {
                KeyError::Broken(_) | KeyError::Compressed => KeyError::Broken(rejected.to_string()),
                other => other,
            },
        )?;
        let point = <[u8; POINT]>::try_from(pair.public_key().as_ref()).map_err(|_| KeyError::Point)?;
        Ok(Self { pair, public: PublicKey::of(point) })
    }

    /// Returns the matching public key.
    pub fn public(&self) -> &PublicKey {
        &self.public
    }

    /// Signs `message` and returns the signature in ASN.1 DER.
    pub fn sign(&self, message: &[u8]) -> Result<Vec<u8>, KeyError> {
        let signature = self.pair.sign(&SystemRandom::new(), message).map_err(|_| KeyError::Random)?;
        Ok(signature.as_ref().to_vec())
    }
}

impl fmt::Debug for PrivateKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PrivateKey(of {})", self.public.id())
    }
}

/// A public key for ECDSA over P-256 with SHA-256. Its point is known to be on the curve.
#[derive(Clone, PartialEq, Eq)]
pub struct PublicKey {
    point: [u8; POINT],
    id: String,
}

impl PublicKey {
    /// Parses `-----BEGIN PUBLIC KEY-----`, as `openssl pkey -pubout` and cosign write it. The error
    /// says what was found instead: another algorithm, a private key, a certificate.
    pub fn from_pem(text: &[u8]) -> Result<Self, KeyError> {
        Self::from_der(&only_block(text, PUBLIC_TAG)?)
    }

    /// Parses a SubjectPublicKeyInfo.
    pub fn from_der(der: &[u8]) -> Result<Self, KeyError> {
        let point = der.strip_prefix(&FRAME).and_then(|point| <[u8; POINT]>::try_from(point).ok());
        let point = point.filter(|point| point.first() == Some(&4)).ok_or_else(|| unsupported(der))?;
        // Check that the point is on the curve, by a key agreement with a temporary key.
        // Verification rejects other points too, but would only report that the signature is wrong.
        let own = EphemeralPrivateKey::generate(&ECDH_P256, &SystemRandom::new()).map_err(|_| KeyError::Random)?;
        let peer = agreement::UnparsedPublicKey::new(&ECDH_P256, point);
        agree_ephemeral(own, &peer, |_| ()).map_err(|_| KeyError::Point)?;
        Ok(Self::of(point))
    }

    /// Returns the public key of a point that was already checked.
    fn of(point: [u8; POINT]) -> Self {
        Self { id: Digest::of(&[&FRAME[..], &point].concat()).to_string(), point }
    }

    /// Returns the ID of the key in envelopes: `sha256:` and the hexadecimal SHA-256 of the public
    /// key (SubjectPublicKeyInfo, DER). It is always computed from the key.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Returns the hint at the key in Sigstore bundles: the Base64 SHA-256 of the public key
    /// (SubjectPublicKeyInfo, DER), as cosign writes it.
    pub fn hint(&self) -> String {
        BASE64_STANDARD.encode(Digest::of(&self.to_der()).as_bytes())
    }

    /// Returns whether the key ID `hint` refers to this key. Other tools omit `sha256:`.
    pub(super) fn is_meant_by(&self, hint: &str) -> bool {
        let bare = self.id.strip_prefix("sha256:").unwrap_or(&self.id);
        let hint = hint.strip_prefix("sha256:").or_else(|| hint.strip_prefix("SHA256:")).unwrap_or(hint);
        hint.eq_ignore_ascii_case(bare)
    }

    /// Returns the DER form of the key (SubjectPublicKeyInfo).
    pub fn to_der(&self) -> Vec<u8> {
        [&FRAME[..], &self.point].concat()
    }

    /// Returns the PEM form of the key, with a line feed at the end.
    pub fn to_pem(&self) -> String {
        pem_text(PUBLIC_TAG, &self.to_der())
    }

    /// Returns whether `signature` (ASN.1 DER) is a signature of this key over `message`.
    pub fn verifies(&self, message: &[u8], signature: &[u8]) -> bool {
        UnparsedPublicKey::new(&ECDSA_P256_SHA256_ASN1, &self.point).verify(message, signature).is_ok()
    }
}

impl fmt::Debug for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PublicKey({})", self.id)
    }
}

/// A key pair that was written to files.
#[derive(Debug)]
pub struct WrittenPair {
    /// Path of the private key, mode 0600.
    pub private: PathBuf,
    /// Path of the public key.
    pub public: PathBuf,
    /// The public key itself.
    pub key: PublicKey,
}

/// Generates a key pair and writes it to `NAME.key` and `NAME.pub`. With `force`, existing files
/// are replaced. Otherwise nothing is written if one of the files already exists.
pub fn write_pair(name: &Path, force: bool) -> Result<WrittenPair, SigningError> {
    let (private, public) = (with_suffix(name, ".key"), with_suffix(name, ".pub"));
    for path in [&private, &public] {
        if !force && path.symlink_metadata().is_ok() {
            return Err(SigningError::Exists(path.clone()));
        }
    }
    let (PrivateKey { public: key, .. }, text) = PrivateKey::generate().map_err(SigningError::Generate)?;
    let files = [(public.as_path(), key.to_pem(), 0o644), (private.as_path(), text, 0o600)];
    match force {
        true => replace(files)?,
        false => create(files)?,
    }
    Ok(WrittenPair { private, public, key })
}

/// Reads a private key.
pub fn read_private(path: &Path) -> Result<PrivateKey, SigningError> {
    PrivateKey::from_pem(&read(path)?).map_err(|error| SigningError::Key(path.to_owned(), error))
}

/// Reads a public key.
pub fn read_public(path: &Path) -> Result<PublicKey, SigningError> {
    PublicKey::from_pem(&read(path)?).map_err(|error| SigningError::Key(path.to_owned(), error))
}

/// Returns whether users other than the owner have any permission on the file. `false` if its
/// metadata is not readable.
pub fn is_open_to_others(path: &Path) -> bool {
    path.metadata().is_ok_and(|metadata| metadata.is_file() && metadata.permissions().mode() & 0o077 != 0)
}

fn read(path: &Path) -> Result<Vec<u8>, SigningError> {
    read_start(path, MAX_PEM).map_err(SigningError::read("key", path))
}

/// Creates the files, and follows no link. If one exists, none is left behind.
fn create(files: [(&Path, String, u32); 2]) -> Result<(), SigningError> {
    let mut created = Vec::new();
    for (path, content, mode) in files {
        let file = OpenOptions::new().write(true).create_new(true).mode(mode).open(path);
        let written = file.and_then(|mut file| {
            created.push(path);
            file.write_all(content.as_bytes()).and_then(|()| file.sync_all())
        });
        if let Err(source) = written {
            // Half a pair would only make the next attempt fail. The first error is the relevant one.
            created.into_iter().for_each(|path| drop(fs::remove_file(path)));
            return Err(match source.kind() {
                io::ErrorKind::AlreadyExists => SigningError::Exists(path.to_owned()),
                _ => SigningError::write("key", path)(source),
            });
        }
    }
    Ok(())
}

/// Replaces the files in this order. Both are complete before the first is replaced, so a full disk loses no
/// key. The private key comes last, because the old one is enough to make its public key again.
fn replace(files: [(&Path, String, u32); 2]) -> Result<(), SigningError> {
    let mut staged = Vec::new();
    for (path, content, mode) in files {
        let write = || -> io::Result<AtomicFile> {
            let mut file = AtomicFile::create_on(&Disk::default(), path, mode)?;
            file.write_all(content.as_bytes())?;
            Ok(file)
        };
        staged.push((path, write().map_err(SigningError::write("key", path))?));
    }
    staged.into_iter().try_for_each(|(path, file)| file.commit().map_err(SigningError::write("key", path)))
}

pub(super) fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}

/// Returns the content of the only block with the tag `wanted`. Other blocks, such as `EC
/// PARAMETERS`, are ignored.
fn only_block(text: &[u8], wanted: &'static str) -> Result<Vec<u8>, KeyError> {
    if text.len() > MAX_PEM {
        return Err(KeyError::TooLong(MAX_PEM));
    }
    let blocks = pem::parse_many(text).map_err(|error| KeyError::Pem(error.to_string()))?;
    let mut keys = blocks.iter().filter(|block| block.tag() == wanted);
    match (keys.next(), keys.count()) {
        (Some(key), 0) => Ok(key.contents().to_vec()),
        (Some(_), more) => Err(KeyError::Many(more + 1)),
        (None, _) => Err(missing(&blocks, wanted)),
    }
}

/// Returns an error that describes which blocks were found instead.
fn missing(blocks: &[Pem], wanted: &'static str) -> KeyError {
    let tag = |block: &Pem| block.tag().chars().take(MAX_TAG).collect::<String>();
    if let Some(block) = blocks.iter().find(|block| block.tag().starts_with("ENCRYPTED ")) {
        return KeyError::Encrypted(tag(block));
    }
    if wanted == PRIVATE_TAG && blocks.iter().any(|block| block.tag() == "EC PRIVATE KEY") {
        return KeyError::Sec1;
    }
    if blocks.iter().any(|block| block.tag().starts_with("RSA ")) {
        return KeyError::Algorithm("RSA");
    }
    match blocks.iter().find(|block| block.tag() != "EC PARAMETERS") {
        Some(block) => KeyError::Tag(tag(block), wanted),
        None => KeyError::Pem(format!("it has no line `-----BEGIN {wanted}-----`")),
    }
}

/// Encodes PEM with line feeds on every system.
fn pem_text(tag: &str, der: &[u8]) -> String {
    pem::encode_config(&Pem::new(tag, der), pem::EncodeConfig::new().set_line_ending(pem::LineEnding::LF))
}

/// Size of an uncompressed P-256 point, in bytes.
const POINT: usize = 65;

/// Bytes before the uncompressed point in a SubjectPublicKeyInfo of P-256 (RFC 5480): sequence,
/// algorithm `id-ecPublicKey`, curve `secp256r1`, bit string.
const FRAME: [u8; 26] = [
    0x30, 0x59, 0x30, 0x13, 0x06, 0x07, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x02, 0x01, 0x06, 0x08, 0x2a, 0x86, 0x48, 0xce,
    0x3d, 0x03, 0x01, 0x07, 0x03, 0x42, 0x00,
];
/// First bytes of a SubjectPublicKeyInfo of P-256 with a compressed point.
const COMPRESSED: [u8; 4] = [0x30, 0x39, 0x30, 0x13];

/// Object identifiers (with tag and length) of the algorithms of keys. Curves come before the
/// algorithm that they belong to.
const NAMES: &[(&[u8], &str)] = &[
    (&[0x06, 0x05, 0x2b, 0x81, 0x04, 0x00, 0x22], "ECDSA over P-384"),
    (&[0x06, 0x05, 0x2b, 0x81, 0x04, 0x00, 0x23], "ECDSA over P-521"),
    (&[0x06, 0x05, 0x2b, 0x81, 0x04, 0x00, 0x0a], "ECDSA over secp256k1"),
    (&[0x06, 0x09, 0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 0x01], "RSA"),
    (&[0x06, 0x09, 0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 0x0a], "RSA-PSS"),
    (&[0x06, 0x07, 0x2a, 0x86, 0x48, 0xce, 0x38, 0x04, 0x01], "DSA"),
    (&[0x06, 0x03, 0x2b, 0x65, 0x70], "Ed25519"),
    (&[0x06, 0x03, 0x2b, 0x65, 0x71], "Ed448"),
    (&[0x06, 0x03, 0x2b, 0x65, 0x6e], "X25519"),
];
/// Number of leading bytes that contain the object identifier in a public key (RFC 5480) and in a
/// private key (RFC 5958).
const HEAD: usize = 48;
/// Object identifier of `secp256r1`.
const P256: &[u8] = &[0x06, 0x08, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x03, 0x01, 0x07];

/// Returns the reason why a key could not be parsed.
fn unsupported(der: &[u8]) -> KeyError {
    let head = der.get(..HEAD).unwrap_or(der);
    let holds = |name: &[u8]| head.windows(name.len()).any(|window| window == name);
    if let Some((_, name)) = NAMES.iter().find(|(name, _)| holds(name)) {
        return KeyError::Algorithm(name);
    }
    if !holds(P256) {
        return KeyError::Algorithm("an unknown algorithm");
    }
    match der.starts_with(&COMPRESSED) {
        true => KeyError::Compressed,
        false => KeyError::Broken("it is not a complete key for P-256".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pair_is_written_once_and_replaced_only_by_force() {
        let dir = tempfile::tempdir().unwrap();
        let name = dir.path().join("release.2026");
        let first = write_pair(&name, false).unwrap();
        assert_eq!(first.private, dir.path().join("release.2026.key"));
        assert_eq!(first.private.metadata().unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(read_private(&first.private).unwrap().public(), &read_public(&first.public).unwrap());
        assert!(!is_open_to_others(&first.private) && is_open_to_others(&first.public));

        let error = write_pair(&name, false).unwrap_err();
        assert!(matches!(&error, SigningError::Exists(path) if *path == first.private), "{error}");
        assert_eq!(read_public(&first.public).unwrap(), first.key);

        let second = write_pair(&name, true).unwrap();
        assert_ne!(second.key, first.key);
        assert_eq!(read_private(&second.private).unwrap().public(), &second.key);
        assert_eq!(second.private.metadata().unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(dir.path().read_dir().unwrap().count(), 2);
    }

    #[test]
    fn a_pair_that_cannot_be_replaced_stays() {
        let dir = tempfile::tempdir().unwrap();
        let name = dir.path().join("k");
        let first = write_pair(&name, false).unwrap();
        let private = fs::read(&first.private).unwrap();
        // A directory is in the place of the public key.
        fs::remove_file(&first.public).unwrap();
        fs::create_dir_all(first.public.join("x")).unwrap();
        assert!(matches!(write_pair(&name, true), Err(SigningError::Write { .. })));
        assert_eq!(fs::read(&first.private).unwrap(), private);
        assert_eq!(dir.path().read_dir().unwrap().count(), 2, "nothing temporary stays");
    }

    #[test]
    fn an_old_public_key_keeps_a_new_private_one_from_being_written() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("k.pub"), "old").unwrap();
        assert!(matches!(write_pair(&dir.path().join("k"), false), Err(SigningError::Exists(_))));
        assert!(!dir.path().join("k.key").exists());
    }

    #[test]
    fn a_link_is_not_written_through() {
        let dir = tempfile::tempdir().unwrap();
        let elsewhere = dir.path().join("elsewhere");
        std::os::unix::fs::symlink(&elsewhere, dir.path().join("k.key")).unwrap();
        assert!(matches!(write_pair(&dir.path().join("k"), false), Err(SigningError::Exists(_))));
        write_pair(&dir.path().join("k"), true).unwrap();
        assert!(!elsewhere.exists());
    }

    #[test]
    fn a_new_key_signs_and_comes_back_from_its_text() {
        let (key, text) = PrivateKey::generate().unwrap();
        let again = PrivateKey::from_pem(text.as_bytes()).unwrap();
        assert_eq!(again.public(), key.public());
        let public = PublicKey::from_pem(key.public().to_pem().as_bytes()).unwrap();
        assert_eq!(public.id(), key.public().id());
        let signature = again.sign(b"some text").unwrap();
        assert!(public.verifies(b"some text", &signature));
        assert!(!public.verifies(b"some test", &signature));
        assert!(!format!("{key:?}").contains("PRIVATE"));
    }

    #[test]
    fn a_point_off_the_curve_is_an_invalid_key() {
        let (key, _) = PrivateKey::generate().unwrap();
        let mut der = key.public().to_der();
        *der.last_mut().unwrap() ^= 1;
        assert_eq!(PublicKey::from_der(&der), Err(KeyError::Point));
    }

    #[test]
    fn a_public_key_where_a_private_one_is_needed_and_the_other_way_round_are_named() {
        let (key, text) = PrivateKey::generate().unwrap();
        let error = PrivateKey::from_pem(key.public().to_pem().as_bytes()).unwrap_err();
        assert_eq!(error.to_string(), "it has `PUBLIC KEY`, expected `PRIVATE KEY`");
        let error = PublicKey::from_pem(text.as_bytes()).unwrap_err();
        assert_eq!(error.to_string(), "it has `PRIVATE KEY`, expected `PUBLIC KEY`");
        assert!(matches!(PublicKey::from_pem(b"no key at all"), Err(KeyError::Pem(_))));
        assert!(matches!(PublicKey::from_pem(&vec![b'-'; 1 << 20]), Err(KeyError::TooLong(_))));
        let two = key.public().to_pem().repeat(2);
        assert_eq!(PublicKey::from_pem(two.as_bytes()), Err(KeyError::Many(2)));
    }
}
