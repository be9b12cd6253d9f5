/** Style sheets are imported for esbuild to bundle them. */
declare module "*.css";
