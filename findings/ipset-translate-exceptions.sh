#!/bin/sh
# ipset-translate of ipset 7.22 (Debian 13), read by nftables 1.1.3 (Debian 13): a list that moves from ipset to nftables
# with the tool made for it bans what it excepted, and forgets what it was to keep.
#
# Guess: `ipset-translate restore` writes sets for nft that match the same addresses for as long, or says what it cannot.
# Seen:  it ends with 0 and says nothing, but (1) `10.1.0.0/16 nomatch`, an exception, becomes a member like any other;
#        (2) `timeout 0`, which in ipset never ends, becomes `timeout 0s`, for which nft takes the default of the set, here
#        an hour. (3) At `swap`, with which a list is replaced in one step, it ends with 255 and translates no line after.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"

# Unpacked, not installed: only apt-get and dpkg of this machine take part.
mkdir -p lists/partial cache/archives root
: > status
sed -E 's/^(deb|deb-src) (\[[^]]*\] )?([^ ]+) .*/deb \2\3 trixie main/' /etc/apt/sources.list 2> ignored | grep '^deb ' | sort -u | head -1 > sources
if [ ! -s sources ]; then
  uri=$(cat /etc/apt/sources.list.d/*.sources | sed -n 's/^URIs: *\([^ ]*\).*/\1/p' | head -1)
  key=$(cat /etc/apt/sources.list.d/*.sources | sed -n 's/^Signed-By: *\([^ ]*\).*/ [signed-by=\1]/p' | head -1)
  echo "deb$key $uri trixie main" > sources
fi
apt() {
  apt-get -o Dir::Etc::sourcelist="$folder/sources" -o Dir::Etc::sourceparts=- -o Dir::State::lists="$folder/lists" \
    -o Dir::State::status="$folder/status" -o Dir::Cache="$folder/cache" -o APT::Install-Recommends=false \
    -o Debug::NoLocking=true -qq "$@" > apt.log
}
apt update
apt -y --download-only install "ipset=7.22-*" "nftables=1.1.3-*"
for archive in cache/archives/*.deb; do dpkg -x "$archive" root; done
libraries=$(dirname "$(find root/usr/lib -name 'libc.so.6' | head -1)")
loader=$(find "$libraries" -name 'ld-linux-*' | head -1)

program() {
  name=$1
  shift
  "$loader" --argv0 "${name##*/}" --library-path "$libraries" "root/usr/sbin/$name" "$@"
}

cat > list <<'IPSET'
create edge hash:ip family inet timeout 3600
add edge 192.0.2.1 timeout 600
add edge 192.0.2.2 timeout 0
create nets hash:net family inet
add nets 198.51.100.0/24
add nets 10.1.0.0/16 nomatch
IPSET
cat > swapped <<'IPSET'
create edge hash:ip family inet
create next hash:ip family inet
swap edge next
destroy next
IPSET

{
  program ipset -v | grep -o 'ipset v[0-9.]*'
  program nft -v | grep -o 'v[0-9.]*'
  program ipset-translate restore < list > list.nft && echo "translated"
  cat list.nft
  echo "what nft has made of it:"
  # In a network of its own: no rule of this machine is touched.
  unshare --user --map-root-user --net sh -c '"$0" --library-path "$1" root/usr/sbin/nft -f list.nft && "$0" --library-path "$1" root/usr/sbin/nft list ruleset' "$loader" "$libraries" |
    sed 's/expires 59m[0-9ms]*/expires within the hour/; s/expires 9m[0-9ms]*/expires within ten minutes/'
  program ipset-translate restore < swapped || echo "ended with $?"
} > seen
cat > expected <<'EXPECTED'
ipset v7.22
v1.1.3
translated
add table inet global
add set inet global edge { type ipv4_addr; timeout 3600s; }
add element inet global edge { 192.0.2.1 timeout 600s }
add element inet global edge { 192.0.2.2 timeout 0s }
add set inet global nets { type ipv4_addr; flags interval; }
add element inet global nets { 198.51.100.0/24 }
add element inet global nets { 10.1.0.0/16 }
what nft has made of it:
table inet global {
	set edge {
		type ipv4_addr
		timeout 1h
		elements = { 192.0.2.1 timeout 10m expires within ten minutes,
			     192.0.2.2 expires within the hour }
	}

	set nets {
		type ipv4_addr
		flags interval
		elements = { 10.1.0.0/16, 198.51.100.0/24 }
	}
}
add table inet global
add set inet global edge { type ipv4_addr; }
add set inet global next { type ipv4_addr; }
# swap edge next
ended with 255
EXPECTED
cat seen
diff expected seen
