export default {
  input: "src/main.ts",
  platform: "node",
  external: [/^perdure($|\/)/],
  output: { file: "dist/main.js", sourcemap: true },
};
