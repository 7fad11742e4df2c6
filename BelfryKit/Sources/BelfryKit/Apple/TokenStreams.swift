public import Foundation

#if canImport(PushKit)
public import PushKit

/// Tokens for calls, as PushKit gives them. Each is registered on a platform of type `ios-voip`, by a ``Belfry`` of its own.
public final class CallTokens: NSObject, PKPushRegistryDelegate {
    private let registry: PKPushRegistry
    private let continuation: AsyncStream<String?>.Continuation
    /// The token in hex digits; nil once it is void.
    public let tokens: AsyncStream<String?>
    private let onCall: (PKPushPayload, @escaping () -> Void) -> Void

    /// - Parameters:
    ///   - queue: on which the system calls; nil for the main queue.
    ///   - onCall: has to report a call to CallKit before it ends, or the system ends the app.
    public init(queue: DispatchQueue? = nil, onCall: @escaping (PKPushPayload, @escaping () -> Void) -> Void) {
        registry = PKPushRegistry(queue: queue)
        (tokens, continuation) = AsyncStream.makeStream()
        self.onCall = onCall
        super.init()
        registry.delegate = self
        registry.desiredPushTypes = [.voIP]
    }

    public func pushRegistry(_ registry: PKPushRegistry, didUpdate credentials: PKPushCredentials, for type: PKPushType)
    {
        continuation.yield(credentials.token.map { String(format: "%02x", $0) }.joined())
    }

    public func pushRegistry(_ registry: PKPushRegistry, didInvalidatePushTokenFor type: PKPushType) {
        continuation.yield(nil)
    }

    public func pushRegistry(
        _ registry: PKPushRegistry, didReceiveIncomingPushWith payload: PKPushPayload, for type: PKPushType,
        completion: @escaping () -> Void
    ) {
        onCall(payload, completion)
    }
}
#endif

#if canImport(ActivityKit)
public import ActivityKit

/// Registers the tokens of Live Activities: one that starts them, and one for each that runs, retired when it ends.
///
/// The platforms are of type `ios-liveactivity-start` and `ios-liveactivity`. Each activity has a ``Belfry`` of its own, in a folder of its own.
public struct LiveActivityTokens<Attributes: ActivityAttributes>: Sendable {
    private let make: @Sendable (_ activity: String) throws -> Belfry

    /// - Parameter make: the registration of one activity, by its id.
    public init(make: @escaping @Sendable (_ activity: String) throws -> Belfry) { self.make = make }

    /// Follows the token by which activities are started.
    public func followStart(_ belfry: Belfry) async {
        for await token in Activity<Attributes>.pushToStartTokenUpdates {
            _ = try? await belfry.register(Registration(token: AppleToken.hex(token)))
        }
    }

    /// Follows all activities, until it is cancelled.
    public func follow() async {
        await withDiscardingTaskGroup { group in
            for await activity in Activity<Attributes>.activityUpdates {
                group.addTask { await follow(activity) }
            }
        }
    }

    private func follow(_ activity: Activity<Attributes>) async {
        guard let belfry = try? make(activity.id) else { return }
        await withDiscardingTaskGroup { group in
            group.addTask {
                for await token in activity.pushTokenUpdates {
                    _ = try? await belfry.register(Registration(token: AppleToken.hex(token)))
                }
            }
            for await state in activity.activityStateUpdates where state == .ended || state == .dismissed { break }
            group.cancelAll()
        }
        try? await belfry.unregister()
    }
}
#endif

/// The spelling of Apple's tokens.
public enum AppleToken {
    public static func hex(_ token: Data) -> String { token.map { String(format: "%02x", $0) }.joined() }
}
