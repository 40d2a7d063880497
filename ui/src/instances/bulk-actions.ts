// The bulk actions.

import type { Role } from "../api/types.ts";

export interface BulkAction {
  readonly id: string;
  readonly title: string;
  readonly role: Role;
  readonly isDangerous: boolean;
  readonly hasReason: boolean;
  /** What the action does. */
  readonly does: string;
  /** Further members of its requests. */
  readonly extra?: object;
  /** A choice of the user: further members if it is made. */
  readonly choice?: { readonly title: string; readonly extra: object };
}

export const BULK_ACTIONS: readonly BulkAction[] = [
  {
    id: "rewind",
    title: "Retry",
    role: "operator",
    isDangerous: false,
    hasReason: true,
    does: "Failed, cancelled, terminated and blocked instances continue at the failed call. Completed work is kept, and work that is done again has the same idempotency keys.",
    extra: { to: "failure" },
    choice: {
      title: "Also the parents that received the failure, and the failed and cancelled children",
      extra: { tree: true },
    },
  },
  {
    id: "pause",
    title: "Pause",
    role: "operator",
    isDangerous: false,
    hasReason: true,
    does: "Stops their code until you resume them.",
  },
  {
    id: "resume",
    title: "Resume",
    role: "operator",
    isDangerous: false,
    hasReason: false,
    does: "Continues paused instances.",
  },
  {
    id: "unblock",
    title: "Unblock",
    role: "operator",
    isDangerous: false,
    hasReason: false,
    does: "Removes their blocks. Workers continue them where they stopped.",
  },
  {
    id: "restart",
    title: "Run again from the start",
    role: "operator",
    isDangerous: false,
    hasReason: true,
    does: "Runs the code of ended instances again from the start, with the same input and new idempotency keys. Work that already completed runs again.",
  },
  {
    id: "cancel",
    title: "Cancel",
    role: "operator",
    isDangerous: true,
    hasReason: true,
    does: "Requests cancellation. Their code can clean up before they end.",
  },
  {
    id: "terminate",
    title: "Terminate",
    role: "operator",
    isDangerous: true,
    hasReason: true,
    does: "Ends them immediately, without running their code: no compensation, no cleanup.",
  },
  {
    id: "delete",
    title: "Delete",
    role: "admin",
    isDangerous: true,
    hasReason: false,
    does: "Deletes ended instances with their histories and children. This cannot be undone.",
  },
];
