/// The admin API of version 1: JSON under `/admin/v1`, for operators, their tools and the back ends of tenants.
///
/// docs/AdminAPI.md is the manual for callers.
package enum Admin {
    static let root = "admin/v1"
}
