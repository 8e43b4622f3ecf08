//! Asks the kernel for the addresses of the interfaces with `rtnetlink(7)`.

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::os::fd::OwnedFd;
use std::time::Duration;

use rustix::net::netlink::SocketAddrNetlink;
use rustix::net::sockopt::{Timeout, set_socket_timeout};
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, socket_with};

use super::tables::{Address4, Address6};

/// Timeout for an answer. The kernel normally answers at once.
const PATIENCE: Duration = Duration::from_secs(2);
/// Maximum size of one message, and of all messages together (about 100,000 addresses), in bytes.
const PIECE: usize = 64 << 10;
const MAX_BYTES: usize = 8 << 20;

const HEADER: usize = 16;
/// Values of `nlmsg_type`: end of a list, error, address, and request for addresses.
const DONE: u16 = 3;
const ERROR: u16 = 2;
const NEW_ADDRESS: u16 = 20;
const GET_ADDRESS: u16 = 22;
/// Value of `nlmsg_flags`: a request for the whole list.
const REQUEST_DUMP: u16 = 0x1 | 0x300;

/// Size of an address message before its attributes: family, prefix length, flags, scope, interface
/// index.
const ADDRESS_HEADER: usize = 8;
const INET: u8 = 2;
const INET6: u8 = 10;
/// Flag: the address is not the first one of its network on the interface.
const SECONDARY: u8 = 0x1;

/// Attributes of an address: the peer's address if there is one, the local address, label,
/// broadcast.
const ADDRESS: u16 = 1;
const OWN: u16 = 2;
const LABEL: u16 = 3;
const BROADCAST: u16 = 4;

/// Returns the addresses in the network namespace of this process, in the kernel's order.
///
/// Returns `None` if the kernel's answer is missing or malformed. `names` are the interfaces by
/// index.
pub(super) fn addresses(names: &BTreeMap<u64, String>) -> Option<(Vec<Address4>, Vec<Address6>)> {
    let socket = open()?;
    let mut found = (Vec::new(), Vec::new());
    for (family, sequence) in [(INET, 1), (INET6, 2)] {
        ask(&socket, family, sequence)?;
        let mut answers = Vec::new();
        collect(&socket, sequence, &mut answers)?;
        for answer in &answers {
            match Message::read(answer)? {
                message if message.family == INET => found.0.extend(message.ipv4(names)),
                message => found.1.extend(message.ipv6(names)),
            }
        }
    }
    Some(found)
}

fn open() -> Option<OwnedFd> {
    let socket = socket_with(AddressFamily::NETLINK, SocketType::RAW, SocketFlags::CLOEXEC, None).ok()?;
    set_socket_timeout(&socket, Timeout::Recv, Some(PATIENCE)).ok()?;
    Some(socket)
}

fn ask(socket: &OwnedFd, family: u8, sequence: u32) -> Option<()> {
    let mut question = Vec::with_capacity(HEADER + ADDRESS_HEADER);
    question.extend(u32::try_from(HEADER + ADDRESS_HEADER).ok()?.to_ne_bytes());
    question.extend(GET_ADDRESS.to_ne_bytes());
    question.extend(REQUEST_DUMP.to_ne_bytes());
    question.extend(sequence.to_ne_bytes());
    question.extend(0_u32.to_ne_bytes());
    question.extend([family, 0, 0, 0, 0, 0, 0, 0]);
    let kernel = SocketAddrNetlink::new(0, 0);
    let sent = rustix::net::sendto(socket, &question, SendFlags::empty(), &kernel).ok()?;
    (sent == question.len()).then_some(())
}

/// Collects the bodies of the address messages until the kernel marks the end of the list.
fn collect(socket: &OwnedFd, sequence: u32, answers: &mut Vec<Vec<u8>>) -> Option<()> {
    let mut total = 0;
    let mut piece = vec![0; PIECE];
    loop {
        let (length, _) = rustix::net::recv(socket, piece.as_mut_slice(), RecvFlags::empty()).ok()?;
        total += length;
        if length == 0 || total > MAX_BYTES {
            return None;
        }
        let mut rest = piece.get(..length)?;
        while rest.len() >= HEADER {
            let size = usize::try_from(u32::from_ne_bytes(rest.get(..4)?.try_into().ok()?)).ok()?;
            let kind = u16::from_ne_bytes(rest.get(4..6)?.try_into().ok()?);
            let number = u32::from_ne_bytes(rest.get(8..12)?.try_into().ok()?);
            let body = rest.get(HEADER..size)?;
            match kind {
                _ if number != sequence => {}
                DONE => return Some(()),
                ERROR => return None,
                NEW_ADDRESS => answers.push(body.to_vec()),
                _ => {}
            }
            rest = rest.get(aligned(size)..).unwrap_or_default();
        }
    }
}

/// Rounds up to a multiple of four, the alignment of everything in a message.
fn aligned(size: usize) -> usize {
    size.next_multiple_of(4)
}

/// One address, as the kernel reports it.
struct Message<'a> {
    family: u8,
    prefix: u8,
    flags: u8,
    scope: u8,
    interface: u64,
    attributes: BTreeMap<u16, &'a [u8]>,
}

impl<'a> Message<'a> {
    fn read(body: &'a [u8]) -> Option<Self> {
        let (head, mut rest) = body.split_at_checked(ADDRESS_HEADER)?;
        let mut attributes = BTreeMap::new();
        while rest.len() >= 4 {
            let size = usize::from(u16::from_ne_bytes(rest.get(..2)?.try_into().ok()?));
            let kind = u16::from_ne_bytes(rest.get(2..4)?.try_into().ok()?);
            attributes.insert(kind, rest.get(4..size)?);
            rest = rest.get(aligned(size)..).unwrap_or_default();
        }
        Some(Self {
            family: *head.first()?,
            prefix: *head.get(1)?,
            flags: *head.get(2)?,
            scope: *head.get(3)?,
            interface: u32::from_ne_bytes(head.get(4..)?.try_into().ok()?).into(),
            attributes,
        })
    }

    fn ipv4(&self, names: &BTreeMap<u64, String>) -> Option<Address4> {
        let address = |kind: u16| Some(Ipv4Addr::from(<[u8; 4]>::try_from(*self.attributes.get(&kind)?).ok()?));
        let own = address(OWN).or_else(|| address(ADDRESS))?;
        let other = address(ADDRESS).unwrap_or(own);
        let label = self.attributes.get(&LABEL).map(|label| String::from_utf8_lossy(label));
        Some(Address4 {
            interface: names.get(&self.interface).cloned(),
            label: label.map(|label| label.trim_end_matches('\0').to_owned()),
            address: own,
            // The prefix length is that of the peer's network. On such a link the local side is a
            // single address.
            prefix: if own == other { self.prefix.min(32) } else { 32 },
            broadcast: Some(address(BROADCAST).map_or_else(String::new, |address| address.to_string())),
            secondary: self.flags & SECONDARY != 0,
        })
    }

    fn ipv6(&self, names: &BTreeMap<u64, String>) -> Option<Address6> {
        let address = |kind: u16| Some(Ipv6Addr::from(<[u8; 16]>::try_from(*self.attributes.get(&kind)?).ok()?));
        let scope = match self.scope {
            254 => "host",
            253 => "link",
            200 => "site",
            _ => "global",
        };
        Some(Address6 {
            interface: names.get(&self.interface)?.clone(),
            address: address(OWN).or_else(|| address(ADDRESS))?,
            prefix: self.prefix.min(128),
            scope,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernel_tells_of_loopback() {
        let names = BTreeMap::from([(1, "lo".to_owned())]);
        let (ipv4, _) = addresses(&names).unwrap();
        let lo = ipv4.iter().find(|address| address.interface.as_deref() == Some("lo")).unwrap();
        assert_eq!((lo.address, lo.prefix, lo.label.as_deref()), (Ipv4Addr::LOCALHOST, 8, Some("lo")));
    }

    #[test]
    fn a_message_that_lies_about_its_length_is_refused() {
        assert!(Message::read(&[2, 24, 0, 0]).is_none());
        assert!(Message::read(&[2, 24, 0, 0, 1, 0, 0, 0, 200, 0, 1, 0, 1, 2, 3, 4]).is_none());
        assert!(Message::read(&[2, 24, 0, 0, 1, 0, 0, 0, 0, 0, 1, 0, 1, 2, 3, 4]).is_none());
    }
}
