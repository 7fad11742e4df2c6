import ADM
import APNs
import BelfryService
import FCM
import GCM
import HMS
import HTTP2Client
import Outbound
import Testing

@testable import BelfryProviders

/// The tables of docs/Providers.md, each row.
@Suite struct OutcomeTests {
    private static let sentAt = Instant(milliseconds: 1_700_000_000_000)
    private static let wait = Duration.seconds(90)

    @Test(arguments: [
        (404, FCMErrorCode.unregistered, Outcome.gone(since: sentAt)), (400, .invalidArgument, .refused(.other)),
        (403, .senderIDMismatch, .refused(.tokenOfAnotherApplication)),
        (401, .thirdPartyAuthError, .refused(.forbidden)), (401, .apnsAuthError, .refused(.forbidden)),
        (429, .quotaExceeded, .throttled(retryAfter: wait)), (429, .resourceExhausted, .throttled(retryAfter: wait)),
        (503, .unavailable, .failed(retryAfter: wait)), (500, .internal, .failed(retryAfter: wait)),
        (500, .unspecified, .failed(retryAfter: wait)),
        (401, .unauthenticated, .credentialsRefused("FCM answered 401 UNAUTHENTICATED")),
        (403, .permissionDenied, .credentialsRefused("FCM answered 403 PERMISSION_DENIED")),
        (404, .notFound, .credentialsRefused("FCM answered 404 NOT_FOUND")),
        (403, FCMErrorCode("NEW"), .credentialsRefused("FCM answered 403 NEW")),
        (429, FCMErrorCode("NEW"), .throttled(retryAfter: wait)), (599, .unstated, .failed(retryAfter: wait)),
        (418, .unstated, .refused(.other)),
    ])
    func `FCM's rejections`(status: Int, code: FCMErrorCode, expected: Outcome) {
        let rejection = FCMRejection(status: status, code: code, retryAfter: Self.wait)
        #expect(Outcome(.rejected(rejection), sentAt: Self.sentAt) == expected)
    }

    @Test func `FCM's used-up quota without a figure waits a minute`() {
        let rejection = FCMRejection(status: 429, code: .quotaExceeded)
        #expect(Outcome(.rejected(rejection), sentAt: Self.sentAt) == .throttled(retryAfter: .seconds(60)))
    }

    @Test func `a token FCM calls malformed is refused, never pruned`() {
        let rejection = FCMRejection(status: 400, code: .invalidArgument, fields: ["message.token"])
        #expect(Outcome(.rejected(rejection), sentAt: Self.sentAt) == .refused(.badToken))
    }

    @Test func `an unsent batch is reported with its failed connection`() {
        let fault = ConnectionFault(.timeout, "no SETTINGS within the connect deadline")
        let unsent = HTTP2Fault(.circuitOpen)
        #expect(Outcome(FCMAnswer.unprocessed(unsent), sentAt: Self.sentAt, fault: fault) == .unreachable(fault))
        #expect(
            Outcome(APNsAnswer.unprocessed(unsent), sentAt: Self.sentAt, serverErrorWait: .zero, fault: fault)
                == .unreachable(fault))
        #expect(
            Outcome(APNsAnswer.credentialsRefused(unsent), sentAt: Self.sentAt, serverErrorWait: .zero, fault: fault)
                == .credentialsRefused("APNs: no SETTINGS within the connect deadline", by: .shared))
    }

    @Test func `FCM's silences`() {
        let refusal = AccessTokenError(isRefusal: true, "invalid_grant")
        let trouble = AccessTokenError(isRefusal: false, "down", retryAfter: Self.wait)
        let outcomes: [(FCMAnswer, Outcome)] = [
            (.held(retryAfter: Self.wait), .throttled(retryAfter: Self.wait)),
            (.unauthorized(refusal), .credentialsRefused("invalid_grant", by: .shared)),
            (.unauthorized(trouble), .failed(retryAfter: Self.wait)),
            (.unprocessed(HTTP2Fault(.goAway)), .failed(retryAfter: nil)),
            (.unknown(HTTP2Fault(.connectionLost)), .unanswered),
            (
                .credentialsRefused(HTTP2Fault(.tlsRefused)),
                .credentialsRefused("FCM: TLS credentials refused", by: .shared)
            ),
        ]
        for (answer, expected) in outcomes { #expect(Outcome(answer, sentAt: Self.sentAt) == expected) }
    }

    @Test(arguments: [
        (GCMError.notRegistered, Outcome.gone(since: sentAt)), (.invalidRegistration, .refused(.badToken)),
        (.missingRegistration, .refused(.missingToken)), (.mismatchSenderID, .refused(.tokenOfAnotherApplication)),
        (.messageTooBig, .refused(.payloadTooLarge)), (.invalidTTL, .refused(.badExpiration)),
        (.invalidAPNsCredential, .refused(.forbidden)), (.invalidDataKey, .refused(.other)),
        (.invalidPackageName, .refused(.other)), (.invalidParameters, .refused(.other)), (.unstated, .refused(.other)),
        (.unavailable, .failed(retryAfter: wait)), (.internalServerError, .failed(retryAfter: wait)),
        (.deviceMessageRateExceeded, .throttled(retryAfter: wait)),
        (.topicsMessageRateExceeded, .throttled(retryAfter: wait)),
    ])
    func `GCM's results`(error: GCMError, expected: Outcome) {
        #expect(
            Outcome(GCMAnswer.rejected(error, retryAfter: Self.wait), kind: .android, sentAt: Self.sentAt) == expected)
    }

    @Test(arguments: [
        (400, Outcome.refused(.other)), (401, .credentialsRefused("GCM answered 401", by: .request)),
        (403, .credentialsRefused("GCM answered 403", by: .request)),
        (404, .credentialsRefused("GCM answered 404", by: .request)),
        (302, .credentialsRefused("GCM answered 302", by: .request)),
        (413, .refused(.payloadTooLarge)),
        (429, .throttled(retryAfter: wait)), (500, .failed(retryAfter: wait)), (503, .failed(retryAfter: wait)),
    ])
    func `GCM's refusals of a whole request`(status: Int, expected: Outcome) {
        let answer = GCMAnswer.refused(status: status, retryAfter: Self.wait)
        #expect(Outcome(answer, kind: .android, sentAt: Self.sentAt) == expected)
    }

    @Test(
        arguments: [
            (nil, .accepted), ("new", .moved(to: DeviceToken(bytes: Array("new".utf8)))), ("a b", .accepted),
            ("", .accepted),
        ] as [(String?, Outcome)])
    func `a canonical id that a device could register moves it`(canonical: String?, expected: Outcome) {
        let answer = GCMAnswer.accepted(messageID: "1", canonical: canonical)
        #expect(Outcome(answer, kind: .android, sentAt: Self.sentAt) == expected)
        #expect(Outcome(ADMAnswer.accepted(replacement: canonical), sentAt: Self.sentAt) == expected)
    }

    @Test func `GCM's and HMS's silences`() {
        let outcomes: [(OutboundFault.Code, Outcome)] = [
            (.connect, .unreachable(ConnectionFault(.connect, "x"))), (.deadline, .failed(retryAfter: nil)),
            (.tls, .credentialsRefused("GCM: x", by: .shared)),
            (
                .addressRefused,
                .credentialsRefused("GCM: the address is not public, see providers.addresses.allow", by: .shared)
            ),
        ]
        for (code, expected) in outcomes {
            let answer = GCMAnswer.unprocessed(OutboundFault(code, "x"))
            #expect(Outcome(answer, kind: .android, sentAt: Self.sentAt) == expected)
        }
        let answer = GCMAnswer.unknown(OutboundFault(.deadline, "x"))
        #expect(Outcome(answer, kind: .android, sentAt: Self.sentAt) == .unanswered)
    }

    @Test(arguments: [
        (HMSCode.allTokensInvalid, Outcome.refused(.badToken)), (.badExpiration, .refused(.badExpiration)),
        (.badCollapseKey, .refused(.badCollapseID)), (.sensitiveContent, .refused(.forbidden)),
        (.tooLarge, .refused(.payloadTooLarge)), (.badParameters, .refused(.other)), (.tokenCount, .refused(.other)),
        (.badStructure, .refused(.other)), (.badBody, .refused(.other)), (.tooManyTokens, .refused(.other)),
        (.tooManyTopicMessages, .throttled(retryAfter: wait)), (.tokenServer, .failed(retryAfter: wait)),
        (.internalError, .failed(retryAfter: wait)),
        (.authenticationFailed, .credentialsRefused("HMS answered 80200001", by: .request)),
        (.tokenExpired, .credentialsRefused("HMS answered 80200003", by: .request)),
        (.noPermission, .credentialsRefused("HMS answered 80300002", by: .request)),
        (.noHighPriority, .credentialsRefused("HMS answered 80300011", by: .request)),
        (.jwtExpired, .credentialsRefused("HMS answered 80200005", by: .request)),
        (.jwtTooLong, .credentialsRefused("HMS answered 80300036", by: .request)),
        (.penalty, .credentialsRefused("HMS answered 80300037", by: .request)),
        (HMSCode("89999999"), .refused(.other)),
    ])
    func `Push Kit's codes, whatever the status`(code: HMSCode, expected: Outcome) {
        let rejection = HMSRejection(status: 200, code: code, retryAfter: Self.wait)
        #expect(Outcome(.rejected(rejection)) == expected)
    }

    @Test(arguments: [
        (401, Outcome.credentialsRefused("HMS answered 401", by: .request)),
        (404, .credentialsRefused("HMS answered 404", by: .request)),
        (429, .throttled(retryAfter: wait)), (503, .throttled(retryAfter: wait)), (500, .failed(retryAfter: wait)),
        (502, .failed(retryAfter: wait)), (400, .refused(.other)),
    ])
    func `Push Kit's statuses without a code`(status: Int, expected: Outcome) {
        #expect(Outcome(.rejected(HMSRejection(status: status, code: nil, retryAfter: Self.wait))) == expected)
    }

    @Test func `FCM and APNs delay a batch an hour at most`() {
        let hour = Duration.seconds(3_600)
        for (status, expected) in [(429, Outcome.throttled(retryAfter: hour)), (503, .failed(retryAfter: hour))] {
            for code in [status == 429 ? FCMErrorCode.quotaExceeded : .unavailable, FCMErrorCode("NEW")] {
                let rejection = FCMRejection(status: status, code: code, retryAfter: .seconds(43_200))
                #expect(Outcome(.rejected(rejection), sentAt: Self.sentAt) == expected)
            }
            let answer = APNsAnswer(status: status, body: Array("{}".utf8).span, retryAfter: 43_200)
            #expect(Outcome(answer, sentAt: Self.sentAt, serverErrorWait: .seconds(900)) == expected)
        }
    }

    @Test func `Push Kit delays a batch an hour at most`() {
        let (long, hour) = (Duration.seconds(43_200), Duration.seconds(3_600))
        let rows: [(Int, HMSCode?, Outcome)] = [
            (200, HMSCode.tooManyTopicMessages, .throttled(retryAfter: hour)),
            (200, HMSCode.internalError, .failed(retryAfter: hour)),
            (429, nil, .throttled(retryAfter: hour)), (500, nil, .failed(retryAfter: hour)),
        ]
        for (status, code, expected) in rows {
            let rejection = HMSRejection(status: status, code: code, retryAfter: long)
            #expect(Outcome(.rejected(rejection)) == expected)
        }
    }

    @Test func `Push Kit's other answers`() {
        #expect(Outcome(HMSAnswer.accepted(requestID: "r")) == .accepted)
        let causes: [(HMSCause, Outcome)] = [
            (.unstated, .refused(.badToken)), (.tokenFormat, .refused(.badToken)),
            (HMSCause("new"), .refused(.badToken)), (.country, .refused(.forbidden)), (.platform, .refused(.forbidden)),
            (.noRight, .refused(.tokenOfAnotherApplication)), (.noPushTypeRight, .refused(.forbidden)),
            (.noLiveNotificationRight, .refused(.forbidden)),
            (.penalty, .credentialsRefused("HMS answered disableSendHuaweiMsgBecauseOfPenalty")),
            (.appInformation, .credentialsRefused("HMS answered appinfoError")),
        ]
        for (cause, expected) in causes { #expect(Outcome(HMSAnswer.illegalToken(cause)) == expected) }
        #expect(Outcome(HMSAnswer.unknown(OutboundFault(.connect, "x"))) == .unanswered)
        #expect(
            Outcome(HMSAnswer.unprocessed(OutboundFault(.connect, "x"))) == .unreachable(ConnectionFault(.connect, "x"))
        )
    }
}
