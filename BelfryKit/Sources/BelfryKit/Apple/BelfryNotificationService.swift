#if canImport(UserNotifications)
import Foundation
public import UserNotifications

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// The base class of a notification service extension: decrypts a push, downloads the picture that it names, and notes that it was received.
///
/// A subclass gives ``configuration``, that of the app, with the folder of the app group, its ``transport``, and ``messageKeys``.
open class BelfryNotificationService: UNNotificationServiceExtension {
    private var delivery: Delivery?
    private var work: Task<Void, Never>?

    /// The configuration of the app. With nil no push is noted.
    open var configuration: BelfryConfiguration? { nil }
    /// Sends reports; where the app pins the server, one with the same ``ServerTrust``.
    open var transport: any Transport { URLSessionTransport() }
    /// The keys that the app has registered. With nil encrypted pushes show the text that stands in for theirs.
    open var messageKeys: (any MessageKeys)? { nil }

    open override func didReceive(
        _ request: UNNotificationRequest, withContentHandler contentHandler: @escaping (UNNotificationContent) -> Void
    ) {
        guard let content = request.content.mutableCopy() as? UNMutableNotificationContent else {
            return contentHandler(request.content)
        }
        let delivery = Delivery(content, contentHandler)
        self.delivery = delivery
        if let keys = messageKeys, let decrypted = DecryptedMessage(in: content.userInfo, by: keys) {
            content.show(decrypted)
        }
        let message = PushMessage(content.userInfo)
        let address = Self.attachment(in: content.userInfo)
        let reports = configuration.map { ExtensionReports($0, transport: transport) }
        work = Task { await BelfryNotificationService.complete(delivery, message, address, reports) }
    }

    /// The report is sent beside the download: once the notification is handed over, the system may end the extension.
    private static func complete(
        _ delivery: Delivery, _ message: PushMessage?, _ address: URL?, _ reports: ExtensionReports?
    ) async {
        if let message { try? reports?.received(message) }
        async let isSent: Void? = try? reports?.send()
        if let file = await download(address) { delivery.attach(file) }
        _ = await isSent
        delivery.finish()
    }

    /// The system waits about 30 seconds, then it shows what there is.
    open override func serviceExtensionTimeWillExpire() {
        work?.cancel()
        delivery?.finish()
    }

    /// The URL of a picture in the payload: the server puts `message.image` under `attachment_url`.
    static func attachment(in userInfo: [AnyHashable: Any]) -> URL? {
        guard let text = userInfo["attachment_url"] as? String ?? userInfo["image"] as? String,
            let url = URL(string: text)
        else { return nil }
        return url.scheme?.lowercased() == "https" ? url : nil
    }

    /// The system tells the type of an attachment by the name of its file.
    private static func download(_ address: URL?) async -> URL? {
        guard let address, let (file, _) = try? await URLSession.shared.download(from: address) else { return nil }
        let name = "\(UUID().uuidString)-\(address.lastPathComponent)"
        let named = file.deletingLastPathComponent().appendingPathComponent(name)
        do { try FileManager.default.moveItem(at: file, to: named) } catch { return nil }
        return named
    }
}

/// A notification that is handed to the system once: when it is whole, or when the time is over.
private final class Delivery: @unchecked Sendable {
    // SAFETY: both are read and written under the lock alone.
    private var handler: ((UNNotificationContent) -> Void)?
    private let content: UNMutableNotificationContent
    private let lock = NSLock()

    init(_ content: UNMutableNotificationContent, _ handler: @escaping (UNNotificationContent) -> Void) {
        self.content = content
        self.handler = handler
    }

    func attach(_ file: URL) {
        lock.withLock {
            guard handler != nil, let made = try? UNNotificationAttachment(identifier: "", url: file, options: nil)
            else {
                return
            }
            content.attachments = [made]
        }
    }

    func finish() {
        lock.withLock {
            handler?(content)
            handler = nil
        }
    }
}

extension UNMutableNotificationContent {
    /// Replaces the text that stands in for the message.
    fileprivate func show(_ message: DecryptedMessage) {
        (title, body) = (message.title ?? "", message.body ?? "")
        if let sound = message.sound {
            self.sound = sound == "default" ? .default : UNNotificationSound(named: UNNotificationSoundName(sound))
        }
        if let category = message.category { categoryIdentifier = category }
        if let thread = message.thread { threadIdentifier = thread }
        userInfo = message.merged(into: userInfo)
    }
}
#endif
