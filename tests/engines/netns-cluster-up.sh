#!/usr/bin/env bash
# Imitate N rented machines with namespaces (needs root): each node has its own network,
# hostname, process ids and OpenSSH server. As with a rented bare cluster, the address that
# you ssh to (127.0.0.1, one mapped port a node) is not the address its peers reach it at
# (the overlay address: plain veth, not WireGuard, and only inside the namespaces).
# Usage: netns-cluster-up.sh [WORK_DIR] [NODES]
# Environment (all optional):
#   CLUSTER_NET      first three parts of the overlay network (default 10.42.0)
#   CLUSTER_IFNAME   name of the overlay interface in each node (default wg0)
#   CLUSTER_PORT     first loopback ssh port (default: first free block from 16500)
#   CLUSTER_SETENV   variables for every remote command, e.g.
#                    "NCCL_SOCKET_IFNAME=wg0 GLOO_SOCKET_IFNAME=wg0" (default: none)
# Prints KEY=VALUE lines; running it again on a live folder only prints them.
set -euo pipefail

work=${1:-${TMPDIR:-/tmp}/engines-cluster}
nodes=${2:-2}
net=${CLUSTER_NET:-10.42.0}
ifname=${CLUSTER_IFNAME:-wg0}
export PATH=$PATH:/usr/sbin:/sbin
die() { echo "netns-cluster-up: $*" >&2; exit 1; }
[ "$(id -u)" = 0 ] || die "needs root (network namespaces)"
for tool in ip unshare socat sshd ss; do
  command -v "$tool" >/dev/null || die "missing program: $tool; bash .ci/system-packages installs it"
done
sshd=$(command -v sshd)
mkdir -p "$work"/{etc,run,log,client}
work=$(cd "$work" && pwd -P)
chmod 700 "$work/etc" "$work/client"
[[ $work != *[[:space:]]* ]] || die "no blanks in the folder's name, please: $work"
here=$(cd "$(dirname "$0")" && pwd -P)

alive() { # pid file, word that the command line must hold
  local pid
  pid=$(cat "$1" 2>/dev/null) && [ -n "$pid" ] &&
    { tr '\0' '\n' <"/proc/$pid/cmdline"; } 2>/dev/null | grep -qF "$2"
}
busy() { [ -n "$(ss -Hltn "sport = :$1")" ]; }

complete=1
tag=''
port=0
if [ -s "$work/etc/cluster" ]; then
  # shellcheck disable=SC1091
  . "$work/etc/cluster" # tag, nodes, net, ifname, port
  for ((i = 1; i <= nodes; i++)); do
    alive "$work/run/node$i.pid" "$work/etc/node$i.sh" || complete=0
    alive "$work/run/port$i.pid" "TCP-LISTEN:$((port + i))," || complete=0
  done
else
  complete=0
fi

if [ "$complete" = 0 ]; then
  # A half-built or half-dead cluster is taken down first, and built from nothing.
  [ ! -s "$work/etc/cluster" ] || "$here/netns-cluster-down.sh" "$work" >/dev/null
  tag=jgc$(printf '%s' "$work" | cksum | cut -d' ' -f1)
  port=${CLUSTER_PORT:-16500}
  if [ -z "${CLUSTER_PORT:-}" ]; then
    while :; do
      clash=0
      for ((i = 1; i <= nodes; i++)); do busy $((port + i)) && clash=1; done
      [ "$clash" = 0 ] && break
      port=$((port + nodes + 1))
      [ "$port" -lt 32000 ] || die "no free block of ports"
    done
  fi
  printf '%s\n' "tag=$tag" "nodes=$nodes" "net=$net" "ifname=$ifname" "port=$port" >"$work/etc/cluster"
  [ -s "$work/client/id_ed25519" ] || ssh-keygen -q -t ed25519 -N '' -C client -f "$work/client/id_ed25519"
  cp "$work/client/id_ed25519.pub" "$work/etc/authorized_keys"
  : >"$work/client/known_hosts"
  mkdir -p /run/sshd && chmod 755 /run/sshd
  {
    echo "127.0.0.1 localhost"
    for ((i = 1; i <= nodes; i++)); do echo "$net.$i node$i.overlay"; done
  } >"$work/etc/hosts"

  # The switch lives in a namespace too: nothing is added to the machine's own network.
  ip netns add "$tag-lan"
  ip -n "$tag-lan" link add br0 type bridge
  ip -n "$tag-lan" link set br0 up

  for ((i = 1; i <= nodes; i++)); do
    ns=$tag-n$i
    home=$work/node$i
    mkdir -p "$home"
    ip netns add "$ns"
    ip link add "p$i" netns "$tag-lan" type veth peer name "$ifname" netns "$ns"
    ip -n "$tag-lan" link set "p$i" master br0 up
    ip -n "$ns" addr add "$net.$i/24" dev "$ifname"
    ip -n "$ns" link set "$ifname" up
    ip -n "$ns" link set lo up

    [ -s "$work/etc/host$i" ] || ssh-keygen -q -t ed25519 -N '' -C "node$i" -f "$work/etc/host$i"
    key=$(cut -d' ' -f1,2 "$work/etc/host$i.pub")
    printf '[127.0.0.1]:%s %s\n%s %s\n' "$((port + i))" "$key" "$net.$i" "$key" >>"$work/client/known_hosts"
    cat >"$work/etc/sshd$i" <<CONF
SetEnv HOME=$home${CLUSTER_SETENV:+ $CLUSTER_SETENV}
Port 22
HostKey $work/etc/host$i
PidFile none
AuthorizedKeysFile $work/etc/authorized_keys
AuthenticationMethods publickey
PermitRootLogin prohibit-password
StrictModes no
UsePAM no
UseDNS no
PrintMotd no
PrintLastLog no
MaxStartups 200
LogLevel VERBOSE
Subsystem sftp internal-sftp
CONF
    # Process 1 of the node: when it dies, the kernel ends every process of the node.
    # /etc/hosts maps the node's own name to 127.0.0.1, as many real images do.
    cat >"$work/etc/node$i.sh" <<INIT
hostname node$i
(cat "$work/etc/hosts"; echo "127.0.0.1 node$i") >"$work/etc/hosts$i"
mount --bind "$work/etc/hosts$i" /etc/hosts
"$sshd" -D -f "$work/etc/sshd$i" -E "$work/log/sshd$i.log" &
while :; do wait || true; sleep 1; done
INIT
    setsid ip netns exec "$ns" unshare --uts --mount --pid --fork --kill-child --mount-proc \
      bash "$work/etc/node$i.sh" </dev/null >"$work/log/node$i.log" 2>&1 &
    echo $! >"$work/run/node$i.pid"
    setsid socat "TCP-LISTEN:$((port + i)),bind=127.0.0.1,reuseaddr,fork,nodelay" \
      "EXEC:'ip netns exec $ns socat STDIO TCP\:127.0.0.1\:22,nodelay'" \
      </dev/null >"$work/log/port$i.log" 2>&1 &
    echo $! >"$work/run/port$i.pid"
  done
  disown -a
fi

# Bounded wait: each node must answer with an OpenSSH banner.
for ((i = 1; i <= nodes; i++)); do
  banner=
  for ((try = 0; try < 100; try++)); do
    banner=$(timeout 2 bash -c "exec 3<>/dev/tcp/127.0.0.1/$((port + i)); head -n 1 <&3" 2>/dev/null || true)
    [[ $banner == SSH-2.0-* ]] && break
    sleep 0.1
  done
  [[ $banner == SSH-2.0-* ]] || die "node$i does not answer: $(tail -n 3 "$work/log/node$i.log" "$work/log/sshd$i.log" 2>&1)"
done

cat <<OUT
CLUSTER_NODES=$nodes
CLUSTER_IFNAME=$ifname
SSH_USER=$(id -un)
SSH_KEY=$work/client/id_ed25519
SSH_KNOWN_HOSTS=$work/client/known_hosts
OUT
for ((i = 1; i <= nodes; i++)); do
  cat <<OUT
NODE${i}_SSH_HOST=127.0.0.1
NODE${i}_SSH_PORT=$((port + i))
NODE${i}_OVERLAY_ADDRESS=$net.$i
NODE${i}_HOSTNAME=node$i
NODE${i}_HOME=$work/node$i
NODE${i}_NETNS=$tag-n$i
OUT
done
