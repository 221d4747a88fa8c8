/** Stands where a package looks for a module of Node that the runtime replaces. */
export default {};
