package org.belfry.android

import android.content.Context
import android.content.Intent
import android.content.pm.PackageManager
import android.os.Build
import java.io.File
import java.util.concurrent.ArrayBlockingQueue
import java.util.concurrent.CompletableFuture
import java.util.concurrent.ExecutionException
import java.util.concurrent.ThreadPoolExecutor
import java.util.concurrent.TimeUnit
import java.util.concurrent.TimeoutException
import java.util.function.Consumer
import org.belfry.Belfry
import org.belfry.DeviceFacts
import org.belfry.Platform
import org.belfry.PushMessage

/** What the app says once, in the `onCreate` of its `Application`. */
class BelfrySettings(
    /** Such as `https://push.example.org`. */
    val server: String,
    /** The platform whose devices FCM reaches: of type `android`, which sends data alone, so that the SDK sees each push. */
    val google: Platform? = null,
    /** The platform of type `web` whose devices a distributor of UnifiedPush reaches, and its VAPID public key. */
    val web: Platform? = null,
    val vapidPublicKey: String? = null,
    /** A white icon for the status bar; the app's own unless given. */
    val icon: Int = 0,
    /** The name of the channel for pushes that name none of the app's. */
    val channelName: String = "Notifications",
    /** What is shown for a message that was encrypted for keys that this phone has not, and of which its server says nothing. */
    val unreadable: String = "New message",
    /** Gets each push on a thread of the SDK's. Returns whether the app has dealt with it; otherwise the SDK shows it. */
    val onMessage: (PushMessage) -> Boolean = { false }
)

/** The one [Belfry] of the process. */
object BelfryPush {
    private class Started(val context: Context, val settings: BelfrySettings, val belfry: Belfry)

    @Volatile private var started: Started? = null

    /** Shows one after the other, since pictures take their time. Of more than wait here, the oldest are not shown. */
    private val shower = ThreadPoolExecutor(1, 1, 10, TimeUnit.SECONDS, ArrayBlockingQueue<Runnable>(100), ThreadPoolExecutor.DiscardOldestPolicy())
        .apply { allowCoreThreadTimeOut(true) }

    /** Everything is read and sent on threads of the SDK's, so it may stand in `onCreate`. */
    @Synchronized fun start(context: Context, settings: BelfrySettings) {
        if (started != null) return
        val app = context.applicationContext ?: context
        val belfry = Belfry(
            settings.server, File(app.noBackupFilesDir, "belfry"), KeystoreSeal(), { BelfryJob.schedule(app, it) }, facts = { facts(app) })
        started = Started(app, settings, belfry)
        belfry.resume()
    }

    val belfry: Belfry get() = running.belfry

    val settings: BelfrySettings get() = running.settings

    internal val packageName: String get() = running.context.packageName

    private val running: Started get() = checkNotNull(started) { "BelfryPush.start is called in the onCreate of the app's Application" }

    /**
     * Counts the push whose notification opened an activity: call it in `onCreate` and in `onNewIntent`.
     *
     * @return the link of the push, which the app may show.
     */
    fun opened(intent: Intent?): String? {
        val receipt = intent?.getStringExtra(RECEIPT) ?: return null
        // An activity that is made again, as when the phone is turned, has the same intent.
        intent.removeExtra(RECEIPT)
        belfry.opened(receipt)
        return intent.getStringExtra(LINK)
    }

    /** Waits for a push to be read, on the thread of FCM, which keeps the process awake as long; and shows it. */
    internal fun showNow(reading: CompletableFuture<PushMessage?>) {
        val message = try {
            reading.get(10, TimeUnit.SECONDS)
        } catch (error: ExecutionException) {
            null
        } catch (error: TimeoutException) {
            null
        }
        if (message != null) show(message)
    }

    /** Shows a push once it is read, on a thread of its own. */
    internal fun showLater(reading: CompletableFuture<PushMessage?>) {
        reading.thenAcceptAsync(Consumer { message -> message?.let { show(it) } }, shower)
    }

    private fun show(message: PushMessage) {
        val running = running
        // What an application server says through an endpoint is for the app alone.
        if (running.settings.onMessage(message) || message.endpoint != null) return
        Notifications(running.context, running.settings).show(message)
    }

    private fun facts(app: Context) = DeviceFacts(
        systemVersion = Build.VERSION.RELEASE, manufacturer = Build.MANUFACTURER, model = Build.MODEL,
        appVersion = try {
            app.packageManager.getPackageInfo(app.packageName, 0).versionName
        } catch (error: PackageManager.NameNotFoundException) {
            null
        })

    internal const val RECEIPT = "receiptId"
    internal const val LINK = "link"
}
