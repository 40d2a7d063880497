// The actions on an instance, and the states that allow them.

import { instances } from "../api/endpoints.ts";
import type { Instance, Role } from "../api/types.ts";

export interface Action {
  readonly id: string;
  readonly title: string;
  readonly does: string;
  /** The title of its dialog. Default: "<title> <id>?". */
  readonly question?: (id: string) => string;
  /** Whether completed work runs again. The dialog then lists that work. */
  readonly repeatsWork?: true;
  readonly role: Role;
  readonly isDangerous?: true;
  readonly hasReason?: true;
  /** Whether the state of the instance allows the action. Other actions are hidden. */
  readonly isOpen: (instance: Instance) => boolean;
  readonly run: (instance: Instance, reason: { readonly reason?: string }) => Promise<unknown>;
  /** The message after success. */
  readonly done: string;
}

export function isEnded({ status }: Pick<Instance, "status">): boolean {
  return ["completed", "failed", "cancelled", "terminated"].includes(status);
}

function isLive(instance: Instance): boolean {
  return !isEnded(instance);
}

/** Whether the instance can continue from a point of its past. */
export function canRewind(instance: Pick<Instance, "status" | "blocked">): boolean {
  return isEnded(instance) || instance.blocked !== undefined;
}

/** Whether the instance can continue at its failure. */
export function canRetry(instance: Pick<Instance, "status" | "blocked">): boolean {
  return canRewind(instance) && instance.status !== "completed";
}

/** Raise, retry, edit, fork and delete have their own dialogs. */
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
    does: "Runs the code again from the start with the same input, as a new execution.",
    repeatsWork: true,
    role: "operator",
    hasReason: true,
    isOpen: isEnded,
    run: ({ id }, reason) => instances.restart(id, reason),
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
    does: "Stops the code until you resume the instance. Running activities and steps finish.",
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
    does: "Ends the instance immediately, without running its code: no compensation, no cleanup.",
    role: "operator",
    isDangerous: true,
    hasReason: true,
    isOpen: isLive,
    run: ({ id }, reason) => instances.terminate(id, reason),
    done: "Terminated.",
  },
];
