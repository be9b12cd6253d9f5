/** Style sheets are imported for Vite to bundle them. */
declare module "*.css";
