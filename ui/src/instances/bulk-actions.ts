// What can be done to many instances at once.

import type { Role } from "../api/types.ts";

export interface BulkAction {
  readonly id: string;
  readonly title: string;
  readonly role: Role;
  readonly isDangerous: boolean;
  readonly hasReason: boolean;
  /** What it does to each of them. */
  readonly does: string;
}

export const BULK_ACTIONS: readonly BulkAction[] = [
  {
    id: "pause",
    title: "Pause",
    role: "operator",
    isDangerous: false,
    hasReason: true,
    does: "No further turn runs until they are resumed.",
  },
  {
    id: "resume",
    title: "Resume",
    role: "operator",
    isDangerous: false,
    hasReason: false,
    does: "Paused instances go on.",
  },
  {
    id: "unblock",
    title: "Retry blocked",
    role: "operator",
    isDangerous: false,
    hasReason: false,
    does: "Their blocks are taken away, so that whoever runs them tries again.",
  },
  {
    id: "restart",
    title: "Restart",
    role: "operator",
    isDangerous: false,
    hasReason: false,
    does: "Ended instances run again with the same input, as their next execution.",
  },
  {
    id: "cancel",
    title: "Cancel",
    role: "operator",
    isDangerous: true,
    hasReason: true,
    does: "They are asked to end; their code may clean up.",
  },
  {
    id: "terminate",
    title: "Terminate",
    role: "operator",
    isDangerous: true,
    hasReason: true,
    does: "They end at once, without running their code.",
  },
  {
    id: "delete",
    title: "Delete",
    role: "admin",
    isDangerous: true,
    hasReason: false,
    does: "Ended instances are removed with their histories and children, for good.",
  },
];
