// How the dashboard is built: into the package's own dist/, with relative addresses, so that it works wherever the
// server is mounted. Nothing is inlined: the content security policy allows files of the same origin alone.

import react from "@vitejs/plugin-react";
import { defineConfig } from "vite";

export default defineConfig({
  base: "./",
  plugins: [react()],
  build: {
    outDir: "../dist/ui",
    emptyOutDir: true,
    target: "es2023",
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    // Sizes are checked by test/interfaces/ui/bundle.test.ts.
    reportCompressedSize: false,
  },
  server: {
    // `npm run dev -w ui` beside a server of one's own.
    proxy: { "/api": { target: process.env["PERDURE_SERVER"] ?? "http://127.0.0.1:7000" } },
  },
});
