/// The facts of one request that validation needs, collected from its headers.
struct RequestFacts: Equatable {
    enum Method: Equatable { case missing, post, other }
    enum Path: Equatable { case missing, foreign, withoutToken, badToken, device, broadcast }
    enum Form: Equatable { case absent, good, bad }
    enum Kind: Equatable { case absent, unknown, known(PushType) }

    /// The topic, as far as its suffix and the list of known topics tell.
    struct Topic: Equatable {
        var suffix: TopicSuffix
        var isMDM = false
        var isAllowed = true
    }

    var method = Method.missing
    var path = Path.missing
    var id = Form.absent
    var topic: Topic?
    var pushType = Kind.absent
    var priority = Form.absent
    /// The figure of `apns-priority`; meaningful when `priority` is good.
    var priorityLevel: UInt8 = 10
    var expiration = Form.absent
    /// Whether `apns-expiration` is 0.
    var expiresAtOnce = false
    /// `apns-channel-id`, of a broadcast.
    var channel = Form.absent
    var collapseIDBytes = 0
    var repeatsHeader = false
    var authorization = Authorization.absent
    var payloadBytes = 0
    /// The first byte of the payload that is not white space.
    var payloadOpening: UInt8?

    enum Authorization: Equatable {
        case absent
        case good
        case refused(APNsReason)
    }
}
