package org.belfry.android

import android.app.Notification
import android.app.NotificationChannel
import android.app.NotificationManager
import android.app.PendingIntent
import android.content.BroadcastReceiver
import android.content.Context
import android.content.Intent
import android.graphics.Bitmap
import android.graphics.BitmapFactory
import java.io.ByteArrayOutputStream
import java.io.IOException
import java.net.URL
import javax.net.ssl.HttpsURLConnection
import org.belfry.PushMessage

/** Shows pushes, and takes back those that are retracted. */
internal class Notifications(private val context: Context, private val settings: BelfrySettings) {
    private val manager = context.getSystemService(NotificationManager::class.java)

    fun show(message: PushMessage) {
        val retracted = message.retracts
        if (retracted != null) {
            manager.activeNotifications.filter { it.tag == retracted }.forEach { manager.cancel(it.tag, it.id) }
            return
        }
        if (!message.isShown) return
        val picture = message.image?.let { Picture.load(it) }
        val body = message.body ?: if (message.isUnreadable) settings.unreadable else null
        val builder = Notification.Builder(context, channel(message))
            .setSmallIcon(if (settings.icon != 0) settings.icon else context.applicationInfo.icon)
            .setContentTitle(message.title ?: context.applicationInfo.loadLabel(context.packageManager))
            .setContentText(body)
            .setStyle(if (picture != null) Notification.BigPictureStyle().bigPicture(picture) else Notification.BigTextStyle().bigText(body))
            .setAutoCancel(true)
            .setContentIntent(tap(message))
        picture?.let { builder.setLargeIcon(it) }
        message.thread?.let { builder.setGroup(it) }
        message.receipt?.let { builder.setDeleteIntent(removal(it)) }
        manager.notify(message.tag, 0, builder.build())
    }

    /** The channel that the sender named, where the app has it; or the SDK's own. */
    private fun channel(message: PushMessage): String {
        message.channel?.let { if (manager.getNotificationChannel(it) != null) return it }
        manager.createNotificationChannel(NotificationChannel(ownChannel, settings.channelName, NotificationManager.IMPORTANCE_HIGH))
        return ownChannel
    }

    /** Opens the activity of the push's category, or else the app. The activity calls [BelfryPush.opened]. */
    private fun tap(message: PushMessage): PendingIntent {
        val named = message.category?.let { Intent(it).setPackage(context.packageName) }
            ?.takeIf { context.packageManager.resolveActivity(it, 0) != null }
        val intent = named ?: context.packageManager.getLaunchIntentForPackage(context.packageName) ?: Intent()
        intent.addFlags(Intent.FLAG_ACTIVITY_NEW_TASK or Intent.FLAG_ACTIVITY_CLEAR_TOP)
        for ((name, value) in message.data) intent.putExtra(name, value)
        intent.putExtra(BelfryPush.RECEIPT, message.receipt).putExtra(BelfryPush.LINK, message.link)
        return PendingIntent.getActivity(context, code(message.receipt ?: message.tag), intent, flags)
    }

    private fun removal(receipt: String): PendingIntent = PendingIntent.getBroadcast(
        context, code(receipt), Intent(context, BelfryRemovals::class.java).putExtra(BelfryPush.RECEIPT, receipt), flags)

    /** The system takes intents that differ in their extras alone for the same, unless they have codes of their own. */
    private fun code(text: String?) = text.hashCode()

    private companion object {
        const val ownChannel = "belfry"
        const val flags = PendingIntent.FLAG_IMMUTABLE or PendingIntent.FLAG_UPDATE_CURRENT
    }
}

/** Counts notifications that the user removed. */
class BelfryRemovals : BroadcastReceiver() {
    override fun onReceive(context: Context, intent: Intent) {
        val receipt = intent.getStringExtra(BelfryPush.RECEIPT) ?: return
        val pending = goAsync()
        BelfryPush.belfry.dismissed(receipt).whenComplete { _, _ -> pending.finish() }
    }
}

/** The picture of a push. One that is too large, too slow or none is left out. */
private object Picture {
    private const val bytesMax = 4 shl 20
    private const val millisecondsMax = 10_000
    private const val sideMax = 1_024

    fun load(address: String): Bitmap? {
        val bytes = try {
            download(address) ?: return null
        } catch (error: IOException) {
            return null
        } catch (error: ClassCastException) {
            // No https.
            return null
        }
        val options = BitmapFactory.Options()
        options.inJustDecodeBounds = true
        BitmapFactory.decodeByteArray(bytes, 0, bytes.size, options)
        options.inJustDecodeBounds = false
        options.inSampleSize = 1
        while (maxOf(options.outWidth, options.outHeight) / options.inSampleSize > sideMax) options.inSampleSize *= 2
        return BitmapFactory.decodeByteArray(bytes, 0, bytes.size, options)
    }

    private fun download(address: String): ByteArray? {
        val connection = URL(address).openConnection() as HttpsURLConnection
        try {
            connection.connectTimeout = millisecondsMax / 2
            connection.readTimeout = millisecondsMax / 2
            if (connection.responseCode != 200) return null
            val end = System.nanoTime() + millisecondsMax * 1_000_000L
            val read = ByteArrayOutputStream()
            val buffer = ByteArray(16_384)
            val stream = connection.inputStream
            while (true) {
                val count = stream.read(buffer)
                if (count < 0) return read.toByteArray()
                read.write(buffer, 0, count)
                if (read.size() > bytesMax || System.nanoTime() - end > 0) return null
            }
        } finally {
            connection.disconnect()
        }
    }
}
