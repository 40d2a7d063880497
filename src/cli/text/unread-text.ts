// Prints events that were sent to an instance and that its code has not read. A common cause is a misspelled
// name.

import type { Handle } from "../../client/handle.ts";
import type { UnreadPage } from "../../client/inspect/unread.ts";
import { isPerdureError } from "../../core/errors/errors.ts";
import { unreadToHttp } from "../../server/wire/instance.ts";
import { bold, dim, yellow, type Screen } from "./screen.ts";
import { showValue } from "./values.ts";

const SHOWN_MAX = 20;

export type Unread =
  | { readonly page: UnreadPage; readonly why?: never }
  /** Why the events cannot be read. */
  | { readonly page?: never; readonly why: string };

export async function readUnread(handle: Handle): Promise<Unread> {
  try {
    return { page: await handle.unread({ limit: SHOWN_MAX }) };
  } catch (error) {
    const isUnreadable =
      isPerdureError(error, "HISTORY_CORRUPT") || isPerdureError(error, "KEY_MISSING");
    if (isUnreadable) return { why: error.message };
    throw error;
  }
}

export function unreadDocument({ page, why }: Unread): object {
  return page === undefined ? { items: [], unreadable: why } : unreadToHttp(page);
}

export function printUnread(screen: Screen, { page, why }: Unread): void {
  if (page !== undefined && page.items.length === 0) return;
  screen.line();
  screen.line(bold("Unread events"));
  if (page === undefined) return screen.line("  ", yellow(why));
  for (const { name, data, refused, requestId } of page.items) {
    screen.line(
      "  ",
      requestId === undefined ? "" : "request ",
      bold(name),
      data === undefined ? "" : ` ${showValue(data)}`,
    );
    if (refused !== undefined) screen.line("    ", yellow(refused.message));
  }
  if (page.cursor !== undefined) screen.line(dim("  … and more"));
}
