// node scripts/compress-ui.ts: compresses the dashboard's assets in dist/ui. The server sends them as they are stored
// (src/server/http/static-files.ts, static-files.1), and the package stays below its size limit.

import { globSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { constants, gzipSync } from "node:zlib";
import { projectRoot } from "./api/entry-points.ts";

const assets = join(projectRoot, "dist", "ui", "assets");
for (const name of globSync("*.{js,css}", { cwd: assets })) {
  const path = join(assets, name);
  const level = constants.Z_BEST_COMPRESSION;
  writeFileSync(`${path}.gz`, gzipSync(readFileSync(path), { level }));
  rmSync(path);
}
