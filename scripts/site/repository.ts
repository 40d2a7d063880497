// Addresses of the repository. Pages of the package link by address to files that are not packed; in the site and the
// tests such an address stands for the file.

import manifest from "../../package.json" with { type: "json" };

const REPOSITORY = manifest.homepage.replace(/#.*$/, "");
const FILE = new RegExp(
  `^${REPOSITORY.replaceAll(".", "\\.")}/(?:blob|tree|raw)/main/(?<path>.+)$`,
);

/** The file that an address names, as a path from the project's root; null if it is not in the repository. */
export function repositoryPath(address: string): string | null {
  return FILE.exec(address)?.groups?.["path"] ?? null;
}

/** The address of a file or folder; images have a raw address that displays them. */
export function repositoryAddress(path: string): string {
  const isPicture = path.endsWith(".webp");
  const view = isPicture ? "raw" : /\.\w+$/.test(path) ? "blob" : "tree";
  return `${REPOSITORY}/${view}/main/${path}`;
}
