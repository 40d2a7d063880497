// What can be done to an instance, and when.

import { instances } from "../api/endpoints.ts";
import type { Instance, Role } from "../api/types.ts";

export interface Action {
  readonly id: string;
  readonly title: string;
  readonly does: string;
  /** The question of its dialog, if it is not "<title> <id>?". */
  readonly question?: (id: string) => string;
  /** Its dialog names the work that already completed: it runs again. */
  readonly repeatsWork?: true;
  readonly role: Role;
  readonly isDangerous?: true;
  readonly hasReason?: true;
  /** Whether the state of the instance allows it; other actions are not shown. */
  readonly isOpen: (instance: Instance) => boolean;
  readonly run: (instance: Instance, reason: { readonly reason?: string }) => Promise<unknown>;
  /** The message after it succeeded. */
  readonly done: string;
}

export function isEnded({ status }: Pick<Instance, "status">): boolean {
  return ["completed", "failed", "cancelled", "terminated"].includes(status);
}

function isLive(instance: Instance): boolean {
  return !isEnded(instance);
}

/** Raise, fork and delete have their own dialogs. */
export const ACTIONS: readonly Action[] = [
  {
    id: "unblock",
    title: "Unblock",
    does: "Removes the block. A worker then continues the code where it stopped.",
    role: "operator",
    isOpen: (instance) => isLive(instance) && instance.blocked !== undefined,
    run: ({ id }) => instances.unblock(id),
    done: "Unblocked.",
  },
  {
    id: "restart",
    title: "Run again from the start",
    question: (id) => `Run ${id} again from the start?`,
    does: "Runs the code again from the start, with the same input, as the next execution.",
    repeatsWork: true,
    role: "operator",
    isOpen: isEnded,
    run: ({ id }) => instances.restart(id),
    done: "Running again from the start.",
  },
  {
    id: "resume",
    title: "Resume",
    does: "Continues the instance where it was paused.",
    role: "operator",
    isOpen: ({ paused }) => paused !== undefined,
    run: ({ id }) => instances.resume(id),
    done: "Resumed.",
  },
  {
    id: "pause",
    title: "Pause",
    does: "No further turn runs until you resume the instance. Running work finishes, and its results wait.",
    role: "operator",
    hasReason: true,
    isOpen: (instance) => isLive(instance) && instance.paused === undefined,
    run: ({ id }, reason) => instances.pause(id, reason),
    done: "Paused.",
  },
  {
    id: "cancel",
    title: "Cancel",
    does: "Requests cancellation. The code can clean up before the instance ends.",
    role: "operator",
    isDangerous: true,
    hasReason: true,
    isOpen: isLive,
    run: ({ id }, reason) => instances.cancel(id, reason),
    done: "Cancellation requested.",
  },
  {
    id: "terminate",
    title: "Terminate",
    does: "Ends the instance at once. Its code does not run again, so nothing is cleaned up.",
    role: "operator",
    isDangerous: true,
    hasReason: true,
    isOpen: isLive,
    run: ({ id }, reason) => instances.terminate(id, reason),
    done: "Terminated.",
  },
];
