// Locked rows: when to search again for rows that were due but could not be leased.
//   - postgres.locked-rows.1: A lease skips rows that another transaction has locked. If that transaction is a lease,
//       another runtime has the row now. If it is a write that leaves the row due, its commit notifies no runtime:
//       the caller must search again, or the row would wait for the next poll.

/** Longer than most transactions, and short compared with the poll interval. */
const RETRY_MS = 20;

/** `nextAt` of a lease call in which rows that were found were not leased. */
export function retryLocked(now: number, nextAt: number | null): number {
  return Math.min(nextAt ?? Infinity, now + RETRY_MS);
}
