import Foundation

/// A silent push by which the server takes back an earlier one. Calls that are forwarded to `AppDelegateCalls` heed it already.
public struct PushRetraction: Sendable, Hashable {
    /// The identifier of the notification to remove from the notification centre.
    public let identifier: String

    /// Reads the payload of a push; nil where it is no retraction.
    public init?(_ userInfo: [AnyHashable: Any]) {
        guard let verb = userInfo["belfry"] as? [String: Any], let identifier = verb["retract"] as? String,
            !identifier.isEmpty
        else { return nil }
        self.identifier = identifier
    }
}
