// Notify listeners: passes changes of the store to the listeners of this process.

import type { News, NewsListener } from "../core/provider/notifications.ts";

/** Tells a listener to look at everything: another process may have changed anything. */
export const ELSEWHERE: News = { due: [], changed: [], tasks: false, elsewhere: true };

/** The commit is done: an error of a listener becomes a warning. */
export function notifyListeners(listeners: Iterable<NewsListener>, news: News): void {
  for (const listener of [...listeners]) {
    try {
      listener(news);
    } catch (error) {
      const detail = error instanceof Error ? (error.stack ?? error.message) : String(error);
      const warning = `A listener for store changes threw an error: ${detail}`;
      process.emitWarning(warning, "PerdureWarning");
    }
  }
}
