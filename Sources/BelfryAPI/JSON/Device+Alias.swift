import BelfryCore

extension Device {
    /// As callers see it: apps say by an empty alias that there is none.
    var shownAlias: String? { about.alias.flatMap { $0.isEmpty ? nil : $0 } }
}
