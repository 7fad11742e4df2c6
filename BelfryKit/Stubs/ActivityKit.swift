// The part of ActivityKit that BelfryKit uses, written from Apple's documentation.
import Foundation

public protocol ActivityAttributes: Codable, Sendable {
    associatedtype ContentState: Codable, Hashable, Sendable
}

public enum ActivityState: Sendable { case active, ended, dismissed, stale }

public final class Activity<Attributes: ActivityAttributes>: Sendable, Identifiable {
    public let id = ""
    public static var pushToStartTokenUpdates: AsyncStream<Data> { AsyncStream { $0.finish() } }
    public static var activityUpdates: AsyncStream<Activity<Attributes>> { AsyncStream { $0.finish() } }
    public var pushTokenUpdates: AsyncStream<Data> { AsyncStream { $0.finish() } }
    public var activityStateUpdates: AsyncStream<ActivityState> { AsyncStream { $0.finish() } }
}
