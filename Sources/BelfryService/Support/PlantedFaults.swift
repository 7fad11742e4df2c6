#if DEBUG
import FoundationEssentials
#endif

/// Defences that a debug build can leave out, so that a test can show that the hostile tests fail without them.
///
/// The environment variable `BELFRY_PLANTED_FAULT` names them, separated by commas: `json-depth` reads JSON of any
/// depth, `back-pressure` receives and answers whatever a client sends, whether or not it reads. A release build
/// ignores the variable: nothing is ever left out there.
package enum PlantedFaults {
    #if DEBUG
    /// Read once, because it is needed for every JSON text.
    private static let names = Set(
        (ProcessInfo.processInfo.environment["BELFRY_PLANTED_FAULT"] ?? "").split(separator: ",").map(String.init))

    package static func contains(_ name: String) -> Bool { names.contains(name) }
    #else
    /// False, always.
    @inlinable package static func contains(_ name: String) -> Bool { false }
    #endif
}
