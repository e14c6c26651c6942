#!/usr/bin/env bash
# Start a real OpenSSH server on a high loopback port with keys of its own.
# Usage: sshd-up.sh [WORK_DIR] [PORT]
# Environment (all optional):
#   SSHD_SETENV   variables for every remote command, "A=1 B=2" (e.g. SLURM_CONF=...)
#   SSHD_EXTRA    more sshd_config lines, e.g. "MaxSessions 300" (default there: 10)
# Prints KEY=VALUE lines; running it again on a live folder only prints them.
set -euo pipefail

work=${1:-${TMPDIR:-/tmp}/engines-sshd}
want=${2:-}
export PATH=$PATH:/usr/sbin:/sbin
die() { echo "sshd-up: $*" >&2; exit 1; }
sshd=$(command -v sshd) || die "missing program: sshd; bash .ci/system-packages installs it"
mkdir -p "$work"/{etc,run,log,client,home}
work=$(cd "$work" && pwd -P)
[[ $work != *[[:space:]]* ]] || die "no blanks in the folder's name, please: $work"
chmod 700 "$work/etc" "$work/client"
config=$work/etc/sshd_config
pidfile=$work/run/sshd.pid

alive() {
  local pid
  pid=$(cat "$pidfile" 2>/dev/null) && [ -n "$pid" ] &&
    { tr '\0' '\n' <"/proc/$pid/cmdline"; } 2>/dev/null | grep -qF "$config"
}

if ! alive; then
  if [ "$(id -u)" = 0 ]; then mkdir -p /run/sshd && chmod 755 /run/sshd; fi
  [ -s "$work/etc/host_ed25519" ] || ssh-keygen -q -t ed25519 -N '' -C host -f "$work/etc/host_ed25519"
  [ -s "$work/client/id_ed25519" ] || ssh-keygen -q -t ed25519 -N '' -C client -f "$work/client/id_ed25519"
  cp "$work/client/id_ed25519.pub" "$work/etc/authorized_keys"
  port=${want:-$(cat "$work/etc/port" 2>/dev/null || echo 16700)}
  for ((try = 0; try < 100; try++)); do
    [ -n "$(ss -Hltn "sport = :$port")" ] || break
    [ -z "$want" ] || die "port $port is taken"
    port=$((port + 1))
  done
  {
    # sshd takes the first value of a keyword, so the caller's lines come first.
    [ -z "${SSHD_EXTRA:-}" ] || printf '%s\n' "$SSHD_EXTRA"
    # One SetEnv line only: a second one is ignored. HOME keeps the user's own
    # shell start-up files and dot folders out of the tests.
    echo "SetEnv HOME=$work/home${SSHD_SETENV:+ $SSHD_SETENV}"
    cat <<CONF
ListenAddress 127.0.0.1
Port $port
HostKey $work/etc/host_ed25519
PidFile $pidfile
AuthorizedKeysFile $work/etc/authorized_keys
AuthenticationMethods publickey
PermitRootLogin prohibit-password
StrictModes no
UsePAM no
UseDNS no
PrintMotd no
PrintLastLog no
X11Forwarding no
AllowTcpForwarding yes
AllowStreamLocalForwarding yes
MaxStartups 200
LogLevel VERBOSE
Subsystem sftp internal-sftp
CONF
  } >"$config"
  echo "$port" >"$work/etc/port"
  "$sshd" -t -f "$config" || die "bad sshd_config"
  "$sshd" -f "$config" -E "$work/log/sshd.log" </dev/null || die "$(tail -n 5 "$work/log/sshd.log")"
  printf '[127.0.0.1]:%s %s\n' "$port" "$(cut -d' ' -f1,2 "$work/etc/host_ed25519.pub")" >"$work/client/known_hosts"
fi
port=$(cat "$work/etc/port")

for ((try = 0; try < 50; try++)); do
  if alive && [ -n "$(ss -Hltn "sport = :$port")" ]; then break; fi
  sleep 0.1
done
alive || die "did not start: $(tail -n 5 "$work/log/sshd.log")"

cat <<OUT
SSH_HOST=127.0.0.1
SSH_PORT=$port
SSH_USER=$(id -un)
SSH_KEY=$work/client/id_ed25519
SSH_KNOWN_HOSTS=$work/client/known_hosts
SSH_HOST_FINGERPRINT=$(ssh-keygen -l -f "$work/etc/host_ed25519.pub" | awk '{print $2}')
SSH_REMOTE_HOME=$work/home
SSH_VERSION=$("$sshd" -V 2>&1 | grep -o 'OpenSSH_[^ ,]*' | head -n 1 || true)
OUT
