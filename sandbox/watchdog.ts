/** What the pool knows of a process from outside, without asking it. */
import { readFileSync } from "node:fs";

/** Linux tells sizes in pages; all platforms that Node 24 has builds for there use one of these two. */
const PAGE_BYTES = process.arch === "ppc64" ? 65_536 : 4096;
const MIB = 1024 * 1024;

/** Resident memory of a process in megabytes; undefined where the platform does not tell, or it is gone. */
export function residentMb(pid: number): number | undefined {
  try {
    // proc_pid_statm(5): size, resident, ... in pages.
    const resident = Number(readFileSync(`/proc/${pid}/statm`, "latin1").split(" ")[1]);
    return Number.isFinite(resident) ? (resident * PAGE_BYTES) / MIB : undefined;
  } catch {
    // No /proc on this platform, or the process has ended.
    return undefined;
  }
}

/** Whether memory can be watched here at all. */
export function canWatchMemory(): boolean {
  return residentMb(process.pid) !== undefined;
}
