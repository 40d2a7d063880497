// Reports every file that a worker loads to its parent process, so that the parent can watch these files.
//   - It also reports a file that fails to load, so that the parent reloads when the user fixes it.

import * as modules from "node:module";
import { fileURLToPath } from "node:url";

/** The environment variable that makes a worker report its files. */
export const REPORT_FILES = "PERDURE_REPORT_FILES";

export interface LoadedFile {
  readonly perdureLoaded: string;
}

/**
 * Must be called before the config is loaded. Files in node_modules are not reported. Returns false if the run time has
 * no hooks for loaded files (Bun).
 */
export function reportLoadedFiles(): boolean {
  if (!("registerHooks" in modules)) return false;
  modules.registerHooks({
    load(url, context, nextLoad) {
      if (url.startsWith("file:") && !url.includes("/node_modules/")) {
        const message: LoadedFile = { perdureLoaded: fileURLToPath(url) };
        process.send?.(message);
      }
      return nextLoad(url, context);
    },
  });
  return true;
}

export function loadedFile(message: unknown): string | undefined {
  if (typeof message !== "object" || message === null) return undefined;
  const { perdureLoaded: file } = message as Partial<LoadedFile>;
  return typeof file === "string" ? file : undefined;
}
