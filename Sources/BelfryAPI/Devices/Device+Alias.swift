import BelfryService

extension Device {
    /// The alias as callers see it: an empty alias from an app means none.
    var shownAlias: String? { about.alias.flatMap { $0.isEmpty ? nil : $0 } }
}
