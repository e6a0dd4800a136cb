#!/usr/bin/env bash
# A GlusterFS volume of four bricks on this machine, in its own network namespace, for benchmarks:
#
#   gluster.sh up DIR      starts it with its state in DIR (made) and mounts it at DIR/mnt
#   gluster.sh status DIR  shows its mount and its processes
#   gluster.sh down DIR    unmounts, stops every process it started (by id), removes DIR
#   gluster.sh netns DIR   shows the name of its network namespace, which others may join
#
# Files are sharded over the bricks, and the client caches nothing (direct-io-mode, no client-side
# performance translators), so every request goes over the network. The exception: if a file is
# opened while the descriptor that created it is still open, reads come from the kernel's page cache.
# GLUSTER_WHOLE_FILES=1 puts each file on one brick: shards may have one client that writes, no more.
# GLUSTER_KEEPS="write-behind io-cache" leaves these parts of a client on.
# GLUSTER_RATE=1gbit limits the bandwidth of the volume's network (tc tbf).
#
# Needs root, and Debian's glusterfs-server, glusterfs-client, iproute2.
set -euo pipefail

usage() { sed -n '2,8s/^# \{0,1\}//p' "$0" >&2; exit 2; }
[ $# -eq 2 ] || usage
command=$1
mkdir -p "$(dirname "$2")"
state=$(cd "$(dirname "$2")" && pwd)/$(basename "$2")
name=forebay$(printf %s "$state" | cksum | cut -d' ' -f1)
host=$(hostname)
volume=forebay
bricks=4

inside() { nsenter --net="/run/netns/$name" "$@"; }
gluster() { inside gluster --mode=script --glusterd-sock="$state/glusterd.socket" "$@"; }

up() {
  [ "$(id -u)" -eq 0 ] || { echo "gluster.sh: needs root" >&2; exit 1; }
  [ ! -e "$state" ] || { echo "gluster.sh: $state exists; take it down first" >&2; exit 1; }
  trap 'down' ERR
  mkdir -p "$state/mnt" "$state/glusterd"
  ip netns add "$name"
  ip -n "$name" link set lo up
  local address
  address=$(getent ahostsv4 "$host" | awk 'NR == 1 {print $1}')
  case $address in 127.*) ;; *) ip -n "$name" address add "$address/32" dev lo ;; esac
  if [ -n "${GLUSTER_RATE:-}" ]; then
    tc -n "$name" qdisc add dev lo root tbf rate "$GLUSTER_RATE" burst 256kb latency 50ms
  fi
  cat >"$state/glusterd.vol" <<VOLFILE
volume management
  type mgmt/glusterd
  option working-directory $state/glusterd
  option run-directory $state/run
  option glusterd-sockfile $state/glusterd.socket
  option transport-type socket
  option transport.socket.read-fail-log off
  option ping-timeout 0
  option max-port 60999
end-volume
VOLFILE
  inside glusterd -f "$state/glusterd.vol" -p "$state/glusterd.pid" -l "$state/glusterd.log"
  wait_until gluster pool list

  local list=() i
  for ((i = 1; i <= bricks; ++i)); do
    mkdir -p "$state/brick$i"
    list+=("$host:$state/brick$i")
  done
  gluster volume create "$volume" "${list[@]}" force >/dev/null
  if [ -z "${GLUSTER_WHOLE_FILES:-}" ]; then
    gluster volume set "$volume" features.shard on >/dev/null
    gluster volume set "$volume" features.shard-block-size 4MB >/dev/null
  fi
  for option in write-behind flush-behind io-cache quick-read read-ahead stat-prefetch open-behind; do
    case " ${GLUSTER_KEEPS:-} " in
      *" $option "*) ;;
      *) gluster volume set "$volume" "performance.$option" off >/dev/null ;;
    esac
  done
  gluster volume start "$volume" >/dev/null
  inside mount -t glusterfs \
    -o "direct-io-mode=enable,log-file=$state/mount.log" "$host:/$volume" "$state/mnt"
  trap - ERR
  status
}

status() {
  if [ ! -e "/run/netns/$name" ]; then
    echo "down"
  else
    echo "mount: $(findmnt -n -o SOURCE,TARGET "$state/mnt" || echo none)"
    echo "processes: $(ip netns pids "$name" | tr '\n' ' ')"
  fi
}

netns() { echo "$name"; }

# `up` started every process in the namespace; no other process can be in it.
down() {
  trap - ERR
  if mountpoint -q "$state/mnt"; then umount "$state/mnt" || umount -l "$state/mnt"; fi
  if [ -e "/run/netns/$name" ]; then
    local sockets
    sockets=$(brick_sockets)
    end_all TERM || end_all KILL || true
    ip netns delete "$name"
    # shellcheck disable=SC2086 — a list of paths
    rm -f $sockets
  fi
  rm -rf "$state"
  echo "down"
}

# The bricks' sockets are outside of the state directory, and outlive their bricks.
brick_sockets() {
  local pid
  for pid in $(ip netns pids "$name"); do
    tr '\0' '\n' <"/proc/$pid/cmdline" | awk 'socket {print} {socket = ($0 == "-S")}'
  done
}

end_all() {
  local pids
  pids=$(ip netns pids "$name")
  # shellcheck disable=SC2086 — a list of ids
  if [ -n "$pids" ]; then kill -s "$1" $pids 2>/dev/null || true; fi
  wait_until all_ended
}

all_ended() { [ -z "$(ip netns pids "$name")" ]; }

wait_until() {
  local tries
  for ((tries = 0; tries < 100; ++tries)); do
    if "$@" >/dev/null 2>&1; then return 0; fi
    sleep 0.1
  done
  echo "gluster.sh: gave up waiting for: $*" >&2
  return 1
}

case $command in
  up | down | status | netns) "$command" ;;
  *) usage ;;
esac
