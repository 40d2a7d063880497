// Reports every file that a worker loads to its parent process, so that the parent can watch these files.
//   - It also reports a file that fails to load, so that the parent reloads when the user fixes it.

import { registerHooks } from "node:module";
import { fileURLToPath } from "node:url";

/** The environment variable that makes a worker report its files. */
export const REPORT_FILES = "PERDURE_REPORT_FILES";

export interface LoadedFile {
  readonly perdureLoaded: string;
}

/** Must be called before the config is loaded. Files in node_modules are not reported. */
export function reportLoadedFiles(): void {
  registerHooks({
    load(url, context, nextLoad) {
      if (url.startsWith("file:") && !url.includes("/node_modules/")) {
        const message: LoadedFile = { perdureLoaded: fileURLToPath(url) };
        process.send?.(message);
      }
      return nextLoad(url, context);
    },
  });
}

export function loadedFile(message: unknown): string | undefined {
  if (typeof message !== "object" || message === null) return undefined;
  const { perdureLoaded: file } = message as Partial<LoadedFile>;
  return typeof file === "string" ? file : undefined;
}
