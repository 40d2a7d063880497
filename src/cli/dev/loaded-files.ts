// Reports every file that a worker loads to its parent process, so that the parent can watch these files.
//   - It also reports a file that fails to load, so that the parent reloads when the user fixes it.
//   - Bun has no hooks for loaded files. There the worker reports the loaded files after the config has loaded; the
//     parent keeps the list of earlier workers.

import * as modules from "node:module";
import { createRequire } from "node:module";
import { fileURLToPath } from "node:url";

/** The environment variable that makes a worker report its files. */
export const REPORT_FILES = "PERDURE_REPORT_FILES";

export interface LoadedFile {
  readonly perdureLoaded: string;
}

/** Reports the files that `load` loads. Files in node_modules are not reported. */
export async function reportingLoadedFiles<Value>(load: () => Promise<Value>): Promise<Value> {
  if (!("registerHooks" in modules)) {
    try {
      return await load();
    } finally {
      // On Bun, this cache also contains ES modules.
      for (const path of Object.keys(createRequire(import.meta.url).cache)) report(path);
    }
  }
  modules.registerHooks({
    load(url, context, nextLoad) {
      if (url.startsWith("file:")) report(fileURLToPath(url));
      return nextLoad(url, context);
    },
  });
  return load();
}

function report(path: string): void {
  if (path.includes("/node_modules/")) return;
  const message: LoadedFile = { perdureLoaded: path };
  process.send?.(message);
}

export function loadedFile(message: unknown): string | undefined {
  if (typeof message !== "object" || message === null) return undefined;
  const { perdureLoaded: file } = message as Partial<LoadedFile>;
  return typeof file === "string" ? file : undefined;
}
