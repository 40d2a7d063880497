// Task stories: what the calls say about one task, for invariants 16, 19 and 26. The lease model writes them.

import type { TaskAddress } from "../../../core/provider/tasks.ts";

export interface TaskStory {
  readonly address: TaskAddress;
  readonly name: string;
  /** The number of leases under which code could run, including one at the insert of the task. */
  grants: number;
  /** The number of attempts that failed and are retried. */
  retries: number;
  /**
   * The number of these leases that ended because the owner was declared dead or the lease expired. A runtime that
   * leases a deferred task runs no code, so its death is not counted (provider.callbacks.3).
   */
  deaths: number;
  releases: number;
  /** The attempt of the newest lease, from 1 on. */
  attempt: number;
  /** The attempts that calls from outside have failed. Some of these calls may have come too late. */
  readonly failedOutside: Set<number>;
  /** Whether the attempt waits for its completion from outside (provider.callbacks.3). */
  isDeferred: boolean;
  /** Whether a call from outside has completed or failed the task. */
  isCalled: boolean;
}

export function newStory({ key, execution, sequence }: TaskAddress, name: string): TaskStory {
  return {
    address: { key, execution, sequence },
    name,
    grants: 0,
    retries: 0,
    deaths: 0,
    releases: 0,
    attempt: 1,
    failedOutside: new Set(),
    isDeferred: false,
    isCalled: false,
  };
}

export function taskKey({ key, execution, sequence }: TaskAddress): string {
  return `${key}:${execution}:${sequence}`;
}
