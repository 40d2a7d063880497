// History sources: reads recorded histories from files, folders and stores.
//   - history-sources.1: A file holds one history per line, as `perdure history --export` writes them. In a
//        folder, files that end in .json or .history are read, sorted by name, including subfolders.
//   - A file that cannot be read or parsed raises INVALID_ARGUMENT with the name of the file and the line.

import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { invalidArgument } from "../core/checks.ts";
import { errorMessage, isPerdureError, type PerdureError } from "../core/errors/errors.ts";
import type { Provider } from "../core/provider/provider.ts";
import {
  parseRecorded,
  recordOf,
  type RecordedHistory,
} from "../runtime/replay/recorded-history.ts";
import type { HistorySource } from "./replay-histories.ts";

/** A history, and the file it was read from. */
export interface FoundHistory {
  readonly recorded: RecordedHistory;
  readonly file?: string;
}

const PAGE = 100;

export async function* historiesIn(source: HistorySource): AsyncGenerator<FoundHistory> {
  if (typeof source === "string") yield* historiesInFile(source);
  else if (Array.isArray(source) && source.every((each) => typeof each === "string")) {
    for (const file of source) yield* historiesInFile(file);
  } else if (isStore(source)) yield* historiesInStore(source);
  else yield* source as AsyncIterable<FoundHistory>; // the only remaining type of the union
}

/** The histories of a file, or of all files in a folder (history-sources.1). */
export function historiesInFile(path: string): FoundHistory[] {
  let names: string[];
  try {
    names = statSync(path).isDirectory() ? filesIn(path) : [path];
  } catch (cause) {
    throw unreadable(path, cause);
  }
  return names.flatMap(readHistories);
}

function filesIn(folder: string): string[] {
  const names = readdirSync(folder, { recursive: true, encoding: "utf8" }).sort();
  return names.filter((name) => /\.(json|history)$/.test(name)).map((name) => join(folder, name));
}

function readHistories(file: string): FoundHistory[] {
  let text: string;
  try {
    text = readFileSync(file, "utf8");
  } catch (cause) {
    throw unreadable(file, cause);
  }
  return text.split("\n").flatMap((line, index) => {
    if (line.trim() === "") return [];
    try {
      return [{ recorded: parseRecorded(line), file }];
    } catch (cause) {
      throw invalidArgument(`${file}:${index + 1}: ${errorMessage(cause)}`, { cause });
    }
  });
}

/** Every execution of every instance. */
async function* historiesInStore(store: Provider): AsyncGenerator<FoundHistory> {
  let cursor: string | null = null;
  do {
    const request = { filter: {}, order: "oldest", limit: PAGE, cursor } as const;
    const page = await store.listInstances(request);
    for (const record of page.items) {
      for (const { execution } of await store.readExecutions(record.key)) {
        try {
          yield { recorded: await recordOf(store, record, execution) };
        } catch (error) {
          if (!isPerdureError(error, "INSTANCE_NOT_FOUND")) throw error; // deleted after the listing
        }
      }
    }
    cursor = page.cursor;
  } while (cursor !== null);
}

function isStore(source: HistorySource): source is Provider {
  return typeof source === "object" && "listInstances" in source;
}

function unreadable(path: string, cause: unknown): PerdureError {
  return invalidArgument(`${path} cannot be read: ${errorMessage(cause)}.`, { cause });
}
