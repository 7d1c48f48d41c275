# SPDX-License-Identifier: BSD-2-Clause
"""The bridge's send path over verbs beside perftest, and the effect of packing and copying. It runs
in an emulated machine, over the kernel's own RoCE, from the device to itself. The machine's clock
counts its instructions, a nanosecond each, so nothing depends on what else the host does: ratios
mean something there, rates do not.
"""
import json
import statistics
import subprocess

from trials import LAB, SOURCE, Failure, machine, progress

SCRIPT = f"""
. {LAB}/lib/lab.sh
. {LAB}/vm/vm.sh
vm_image && lab_begin || exit
trap lab_end EXIT
trap 'exit 143' TERM INT HUP
VM_CLOCK=instructions
host_up fabric && vm_up m1 fabric:m1:9000 && vm_wait m1 &&
	vm_on m1 ip link set eth0 up && vm_on m1 ip addr add 10.9.0.1/24 dev eth0 &&
	vm_on m1 rdma link add rxe0 type rxe netdev eth0 &&
	VM_SECONDS=7200 vm_on m1 {LAB}/benchmarks/verbs-rounds rxe0 10.9.0.1 "$@"
"""


def measure(args):
    """Rows of verbs-rounds."""
    progress("verbs: a machine boots, then rounds of perftest and ours")
    rounds, seconds = (1 if args.quick else args.runs), 1
    with subprocess.Popen(["bash", "-c", SCRIPT, "bash", str(rounds), str(seconds)], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True, cwd=SOURCE) as process:
        try:
            out, err = process.communicate()
        finally:
            process.terminate()  # the script ends its machine
    progress("")
    if process.returncode:
        raise Failure(f"verbs-rounds: {err.strip()}")
    return [json.loads(line) for line in out.splitlines() if line.startswith("{")]


def run(args, out):
    rows = measure(args)
    with open(f"{out}/verbs.json", "w", encoding="ascii") as file:
        json.dump({"machine": machine(), "rows": rows}, file, indent=1)
    rates = {}
    for row in rows:
        rates.setdefault(row["what"], []).append(row["messages_per_second"])
    print("\nMessages a second over the kernel's RoCE in an emulated machine; lowest .. highest of the rounds")
    for what, values in rates.items():
        print(f"{what:<26}{statistics.median(values):>9.0f}{min(values):>9.0f} .. {max(values):.0f}")

    def ratio(what, base, factor=1.0):
        """Median of the ratios within the rounds."""
        return factor * statistics.median(a / b for a, b in zip(rates[what], rates[base]))
    for t in ("ud", "rc"):
        print(f"{t}: of perftest's messages of 4,032 bytes, the bridge sends {ratio(f'bridge {t}', f'perftest {t}'):.2f} "
              f"({ratio(f'bridge {t}, 31 pieces', f'perftest {t}'):.2f} in 31 pieces; perftest of itself "
              f"{ratio(f'perftest {t} again', f'perftest {t}'):.2f}); packing 31 frames of 60 bytes carries "
              f"{ratio(f'packing {t} 31', f'packing {t} 1', 31):.1f} times the frames of packing 1")
    for what in rates:
        if what.startswith("copy"):
            print(f"{what[5:]:>15} bytes: copied, {ratio(what, what.replace('copy', 'gather')):.2f} of the messages gathered")
