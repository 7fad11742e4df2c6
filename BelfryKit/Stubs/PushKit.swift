// The part of PushKit that BelfryKit uses, written from Apple's documentation.
import Foundation

public struct PKPushType: Hashable, Sendable {
    public static let voIP = PKPushType()
}

open class PKPushCredentials: NSObject {
    open var token: Data { Data() }
}

open class PKPushPayload: NSObject {
    open var dictionaryPayload: [AnyHashable: Any] { [:] }
}

open class PKPushRegistry: NSObject {
    open weak var delegate: (any PKPushRegistryDelegate)?
    open var desiredPushTypes: Set<PKPushType>?
    public init(queue: DispatchQueue?) {}
}

public protocol PKPushRegistryDelegate: NSObjectProtocol {
    func pushRegistry(_ registry: PKPushRegistry, didUpdate pushCredentials: PKPushCredentials, for type: PKPushType)
    func pushRegistry(_ registry: PKPushRegistry, didInvalidatePushTokenFor type: PKPushType)
    func pushRegistry(
        _ registry: PKPushRegistry, didReceiveIncomingPushWith payload: PKPushPayload, for type: PKPushType,
        completion: @escaping () -> Void)
}
