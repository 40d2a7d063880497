// What can be done to an instance, and when.

import { instances } from "../api/endpoints.ts";
import type { Instance, Role } from "../api/types.ts";

export interface Action {
  readonly id: string;
  readonly title: string;
  readonly does: string;
  readonly role: Role;
  readonly isDangerous?: true;
  readonly hasReason?: true;
  /** Whether its state allows it; what is not possible is not shown. */
  readonly isOpen: (instance: Instance) => boolean;
  readonly run: (instance: Instance, reason: { readonly reason?: string }) => Promise<unknown>;
  /** What is said when it is done. */
  readonly done: string;
}

export function isEnded({ status }: Pick<Instance, "status">): boolean {
  return ["completed", "failed", "cancelled", "terminated"].includes(status);
}

function isLive(instance: Instance): boolean {
  return !isEnded(instance);
}

/** Raise, fork and delete have dialogs of their own. */
export const ACTIONS: readonly Action[] = [
  {
    id: "retry",
    title: "Retry",
    does: "The block is taken away, and the code tries again where it stands.",
    role: "operator",
    isOpen: (instance) => isLive(instance) && instance.blocked !== undefined,
    run: ({ id }) => instances.unblock(id),
    done: "The block is taken away.",
  },
  {
    id: "retry",
    title: "Retry",
    does: "It runs again from the beginning, with the same input, as its next execution.",
    role: "operator",
    isOpen: ({ status }) => status === "failed",
    run: ({ id }) => instances.restart(id),
    done: "It runs again.",
  },
  {
    id: "restart",
    title: "Restart",
    does: "It runs again from the beginning, with the same input, as its next execution.",
    role: "operator",
    isOpen: (instance) => isEnded(instance) && instance.status !== "failed",
    run: ({ id }) => instances.restart(id),
    done: "It runs again.",
  },
  {
    id: "resume",
    title: "Resume",
    does: "It goes on where it was paused.",
    role: "operator",
    isOpen: ({ paused }) => paused !== undefined,
    run: ({ id }) => instances.resume(id),
    done: "It goes on.",
  },
  {
    id: "pause",
    title: "Pause",
    does: "No further turn runs until it is resumed. What runs now finishes, and its results wait.",
    role: "operator",
    hasReason: true,
    isOpen: (instance) => isLive(instance) && instance.paused === undefined,
    run: ({ id }, reason) => instances.pause(id, reason),
    done: "It is paused.",
  },
  {
    id: "cancel",
    title: "Cancel",
    does: "It is asked to end; its code may clean up first.",
    role: "operator",
    isDangerous: true,
    hasReason: true,
    isOpen: isLive,
    run: ({ id }, reason) => instances.cancel(id, reason),
    done: "It is asked to end.",
  },
  {
    id: "terminate",
    title: "Terminate",
    does: "It ends at once. Its code does not run again, so that nothing is cleaned up.",
    role: "operator",
    isDangerous: true,
    hasReason: true,
    isOpen: isLive,
    run: ({ id }, reason) => instances.terminate(id, reason),
    done: "It is terminated.",
  },
];
