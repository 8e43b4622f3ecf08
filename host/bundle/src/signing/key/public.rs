//! A public key: what signatures are verified with.

use std::fmt;

use ring::agreement::{ECDH_P256, EphemeralPrivateKey, agree_ephemeral};
use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_ASN1, UnparsedPublicKey};

use super::error::KeyError;
use super::id::KeyId;
use super::{pem as pem_text, spki};

const TAG: &str = "PUBLIC KEY";

/// A public key for ECDSA over P-256 with SHA-256. Its point was checked to be on the curve.
#[derive(Clone, PartialEq, Eq)]
pub struct PublicKey {
    point: [u8; spki::POINT],
    id: KeyId,
}

impl PublicKey {
    /// Reads `-----BEGIN PUBLIC KEY-----`, as `openssl pkey -pubout` and cosign write it.
    ///
    /// # Errors
    /// [`KeyError`] names what is there instead: another algorithm, a private key, a certificate.
    pub fn from_pem(text: &[u8]) -> Result<Self, KeyError> {
        Self::from_der(&pem_text::only(text, TAG)?)
    }

    /// Reads a SubjectPublicKeyInfo.
    ///
    /// # Errors
    /// As for [`PublicKey::from_pem`].
    pub fn from_der(der: &[u8]) -> Result<Self, KeyError> {
        let point = spki::point(der)?;
        on_curve(&point)?;
        Ok(Self::of(point))
    }

    /// Of a key pair that was just checked.
    pub(super) fn of(point: [u8; spki::POINT]) -> Self {
        Self { id: KeyId::of(&spki::encode(&point)), point }
    }

    /// What it is called in envelopes.
    #[must_use]
    pub fn id(&self) -> &KeyId {
        &self.id
    }

    /// Its DER form (SubjectPublicKeyInfo).
    #[must_use]
    pub fn to_der(&self) -> Vec<u8> {
        spki::encode(&self.point)
    }

    /// Its PEM form, with a line feed at the end.
    #[must_use]
    pub fn to_pem(&self) -> String {
        super::pem::lines(&pem::Pem::new(TAG, self.to_der()))
    }

    /// Whether `signature` (ASN.1 DER) is this key's over `message`.
    #[must_use]
    pub fn verifies(&self, message: &[u8], signature: &[u8]) -> bool {
        UnparsedPublicKey::new(&ECDSA_P256_SHA256_ASN1, &self.point).verify(message, signature).is_ok()
    }
}

impl fmt::Debug for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PublicKey({})", self.id)
    }
}

/// A key agreement with a throw-away key refuses points that are not on the curve; verifying would refuse them too, but only by saying
/// that a signature does not fit.
fn on_curve(point: &[u8; spki::POINT]) -> Result<(), KeyError> {
    let own = EphemeralPrivateKey::generate(&ECDH_P256, &SystemRandom::new()).map_err(|_| KeyError::Random)?;
    let peer = ring::agreement::UnparsedPublicKey::new(&ECDH_P256, point);
    agree_ephemeral(own, &peer, |_| ()).map_err(|_| KeyError::Point)
}
